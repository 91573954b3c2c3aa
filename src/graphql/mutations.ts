// What creations and deletions share.

/** Field options of `idempotencyKey`, for every input that creates something. */
export const idempotencyKey = {
  description:
    'Your name for this request, at most 255 characters. Repeating the request within 24 hours, with this name and the same API key, changes nothing and returns the first answer.',
} as const

/** Field options of `replayed`, for every result of a creation. */
export const replayed = {
  description: 'True if this is the stored answer to an earlier request with the same idempotency key.',
} as const
