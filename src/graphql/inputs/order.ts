import { builder } from '../builder.ts'

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { value: 'asc', description: 'The least first.' },
    DESC: { value: 'desc', description: 'The greatest first.' },
  } as const,
})
