import { createHash } from 'node:crypto'

/** Tokens and keys are random and long, so a plain hash is enough. */
export function hashOf(secret: string): Buffer<ArrayBuffer> {
  return createHash('sha256').update(secret).digest()
}
