/** The same in every input that makes something. */
export const idempotencyKey = {
  description:
    'A text of yours that names this request, at most 255 characters. Repeated with it and the same API key within 24 hours, the same request does nothing and gets the first answer again.',
} as const

/** The same in every answer of what was made. */
export const replayed = {
  description: 'Whether this is the answer to an earlier request with the same idempotency key.',
} as const
