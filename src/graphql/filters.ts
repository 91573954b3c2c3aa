// Inputs that filter and sort lists.

import type { InstantFilter } from '../domain/instants.ts'
import { builder } from './builder.ts'

/** An input that compares values of one scalar. All conditions must hold. */
function createComparison<Scalar extends 'Int' | 'Float' | 'Usd'>(name: string, type: Scalar, description: string) {
  return builder.inputType(name, {
    description,
    fields: t => ({
      eq: t.field({ type, description: 'Equal to this value.' }),
      neq: t.field({ type, description: 'Not equal to this value.' }),
      gt: t.field({ type, description: 'Greater than this value.' }),
      gte: t.field({ type, description: 'Greater than or equal to this value.' }),
      lt: t.field({ type, description: 'Less than this value.' }),
      lte: t.field({ type, description: 'Less than or equal to this value.' }),
      in: t.field({ type: [type], description: 'Equal to one of these values.' }),
      nin: t.field({ type: [type], description: 'Equal to none of these values.' }),
    }),
  })
}

export const IntFilter = createComparison(
  'IntFilter',
  'Int',
  'Conditions on an integer. All given conditions must hold; absent or null sets no condition.',
)
export const FloatFilter = createComparison(
  'FloatFilter',
  'Float',
  'Conditions on a number. All given conditions must hold; absent or null sets no condition.',
)
export const UsdFilter = createComparison(
  'UsdFilter',
  'Usd',
  'Conditions on an amount in US dollars, compared exactly. All given conditions must hold; absent or null sets no condition.',
)

export const StringFilter = builder.inputType('StringFilter', {
  description:
    'Conditions on a string, ignoring case. All given conditions must hold; absent or null sets no condition.',
  fields: t => ({
    eq: t.string({ description: 'Equal to this value.' }),
    neq: t.string({ description: 'Not equal to this value.' }),
    in: t.stringList({ description: 'Equal to one of these values.' }),
    nin: t.stringList({ description: 'Equal to none of these values.' }),
    contains: t.string({ description: 'Contains this text anywhere.' }),
    startsWith: t.string({ description: 'Starts with this text.' }),
  }),
})

export const IdFilter = builder.inputType('IdFilter', {
  description:
    'Conditions on an ID, such as `mch_42` or `42`. All given conditions must hold; absent or null sets no condition.',
  fields: t => ({
    eq: t.id({ description: 'Is the same as this ID.' }),
    neq: t.id({ description: 'Is any ID but this one.' }),
    in: t.idList({ description: 'Is one of these IDs.' }),
    nin: t.idList({ description: 'Is none of these IDs.' }),
  }),
})

export const VersionFilter = builder.inputType('VersionFilter', {
  description:
    'Conditions on a version such as "12.8" or "580.105.08", compared number by number: "12.10" is newer than "12.9", and "12" is the same as "12.0". All given conditions must hold; absent or null sets no condition. A missing version, such as the CUDA version of a machine without CUDA, meets `neq` and `nin` alone.',
  fields: t => ({
    eq: t.string({ description: 'Is the same as this version.' }),
    neq: t.string({ description: 'Is any version but this one.' }),
    gt: t.string({ description: 'Is newer than this version.' }),
    gte: t.string({ description: 'Is this version or newer.' }),
    lt: t.string({ description: 'Is older than this version.' }),
    lte: t.string({ description: 'Is this version or older.' }),
    in: t.stringList({ description: 'Is one of these versions.' }),
    nin: t.stringList({ description: 'Is none of these versions.' }),
  }),
})

export const DateTimeFilter = builder.inputType('DateTimeFilter', {
  description: 'Conditions on a time. All given conditions must hold; absent or null sets no condition.',
  fields: t => ({
    gt: t.field({ type: 'DateTime', description: 'Later than this time.' }),
    gte: t.field({ type: 'DateTime', description: 'At this time or later.' }),
    lt: t.field({ type: 'DateTime', description: 'Earlier than this time.' }),
    lte: t.field({ type: 'DateTime', description: 'At this time or earlier.' }),
  }),
})

/** The conditions of a `DateTimeFilter`. Null sets none. */
export function parseDateTimeFilter(filter: typeof DateTimeFilter.$inferInput | null | undefined): InstantFilter {
  const { gt, gte, lt, lte } = filter ?? {}
  return { gt: gt ?? undefined, gte: gte ?? undefined, lt: lt ?? undefined, lte: lte ?? undefined }
}

export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Direction of a sort.',
  values: {
    ASC: { value: 'asc', description: 'Ascending: smallest values first.' },
    DESC: { value: 'desc', description: 'Descending: largest values first.' },
  } as const,
})

type WithoutNulls<Input> = { [Key in keyof Input]: Exclude<Input[Key], null> }

/** Null says nothing, like an absent condition. */
export function withoutNulls<Input extends object>(input: Input | null | undefined): WithoutNulls<Input> | undefined {
  if (!input) return undefined
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)) as WithoutNulls<Input>
}
