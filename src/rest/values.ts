import { z } from 'zod'

// The building blocks of the REST schemas. Each takes a description, which names the unit.

export const integer = (about: string) => z.int().describe(about)
export const number = (about: string) => z.number().describe(about)
export const text = (about: string) => z.string().describe(about)
export const boolean = (about: string) => z.boolean().describe(about)

/** A field that clients expect and that Berth has no value for. */
export const alwaysNull = (about: string) => z.null().describe(about)

/** An id in a path. At most 18 digits, which every id column can hold. */
export const pathId = (about: string) =>
  z
    .string()
    .refine(digits => /^\d{1,18}$/.test(digits), 'must be a whole number.')
    .transform(BigInt)
    .meta({ type: 'integer', format: 'int64', description: about })
