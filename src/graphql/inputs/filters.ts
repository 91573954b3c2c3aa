import { builder } from '../builder.ts'

/** An input that compares a value of one scalar. All that it says must hold. */
function createComparison<Scalar extends 'Int' | 'Float' | 'Usd'>(name: string, type: Scalar, description: string) {
  return builder.inputType(name, {
    description,
    fields: t => ({
      eq: t.field({ type, description: 'Equal to this.' }),
      neq: t.field({ type, description: 'Not equal to this.' }),
      gt: t.field({ type, description: 'Greater than this.' }),
      gte: t.field({ type, description: 'This, or greater.' }),
      lt: t.field({ type, description: 'Less than this.' }),
      lte: t.field({ type, description: 'This, or less.' }),
      in: t.field({ type: [type], description: 'One of these.' }),
      nin: t.field({ type: [type], description: 'None of these.' }),
    }),
  })
}

export const IntFilter = createComparison('IntFilter', 'Int', 'Compares a whole number. All that it says must hold.')
export const FloatFilter = createComparison('FloatFilter', 'Float', 'Compares a number. All that it says must hold.')
export const UsdFilter = createComparison(
  'UsdFilter',
  'Usd',
  'Compares an amount of money, exactly. All that it says must hold.',
)

export const StringFilter = builder.inputType('StringFilter', {
  description: 'Compares a text, without regard to upper and lower case. All that it says must hold.',
  fields: t => ({
    eq: t.string({ description: 'Equal to this.' }),
    neq: t.string({ description: 'Not equal to this.' }),
    in: t.stringList({ description: 'One of these.' }),
    nin: t.stringList({ description: 'None of these.' }),
    contains: t.string({ description: 'Has this in it somewhere.' }),
  }),
})

export const VersionFilter = builder.inputType('VersionFilter', {
  description: 'Compares a version such as "580.105.08", number by number. All that it says must hold.',
  fields: t => ({
    eq: t.string({ description: 'This version.' }),
    gt: t.string({ description: 'Newer than this version.' }),
    gte: t.string({ description: 'This version, or newer.' }),
    lt: t.string({ description: 'Older than this version.' }),
    lte: t.string({ description: 'This version, or older.' }),
  }),
})
