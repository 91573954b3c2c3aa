import { z } from 'zod'

// The values that the schemas of this face are made of. Each has a description, with its unit.

export const integer = (about: string) => z.int().describe(about)
export const number = (about: string) => z.number().describe(about)
export const text = (about: string) => z.string().describe(about)
export const boolean = (about: string) => z.boolean().describe(about)

/** A field that clients expect to be there, though it never says anything. */
export const alwaysNull = (about: string) => z.null().describe(about)

/** An id in a path. At most 18 digits, which every column of ids can hold. */
export const pathId = (about: string) =>
  z
    .string()
    .refine(digits => /^\d{1,18}$/.test(digits), 'must be a whole number.')
    .transform(BigInt)
    .meta({ type: 'integer', format: 'int64', description: about })
