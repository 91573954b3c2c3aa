// Fields that are shares, from 0 to 1. Percentages are sent instead of them.

import type { OfferField } from './fields.ts'

/** The shares, each by the noun that a message begins with. */
export const shareNouns: { readonly [Field in OfferField]?: string } = {
  reliability: 'Reliability',
  gpuFraction: "The share of a machine's GPUs",
}

/** From here on, a number is rather a percentage than a share that is a little too large. */
const leastPercentage = 2

/** Why no share has the value; undefined if one can. A message without its full stop, to be read after the field. */
export function shareProblem(field: OfferField, value: unknown): string | undefined {
  if (shareNouns[field] === undefined || typeof value !== 'number' || value <= 1) return undefined
  const isPercentage = value >= leastPercentage && value <= 100
  // 99.9 / 100 is not 0.999 in binary.
  const meant = isPercentage ? `, such as ${Number((value / 100).toPrecision(12))}` : ''
  return `must be from 0 to 1${meant}, not ${value}`
}
