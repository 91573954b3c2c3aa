/** The same in every input that makes something. */
export const idempotencyKey = {
  description:
    'A text of yours, at most 255 characters. For 24 hours, the same request with the same key answers what the first one did, and does nothing.',
} as const
