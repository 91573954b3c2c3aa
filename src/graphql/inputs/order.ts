import { builder } from '../builder.ts'

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Direction of a sort.',
  values: {
    ASC: { value: 'asc', description: 'Smallest values first.' },
    DESC: { value: 'desc', description: 'Largest values first.' },
  } as const,
})
