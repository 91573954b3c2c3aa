import { DomainError, type StreamEndReason } from './errors.ts'

/** How many streams may be open on a gateway: of a key, of all keys of an account, and of everybody. */
export type StreamLimits = { perKey: number; perAccount: number; total: number }
export const streamLimits: StreamLimits = { perKey: 32, perAccount: 256, total: 2_000 }
/** No stream lives longer: its reader begins anew where it ended. */
export const maxStreamMs = 24 * 3_600_000
/** Whoever is so many events behind is cut off: what waits for one reader must not fill the memory of all. */
export const maxBufferedEvents = 1_000

export function tooManyStreams(message: string): DomainError {
  return new DomainError('TOO_MANY_STREAMS', message)
}

const endMessages: Record<StreamEndReason, string> = {
  KEY_ENDED: 'The key that opened this stream was revoked or reset, or has expired.',
  TOO_SLOW: 'More happened than was read in time. Open it again from the last cursor that was read.',
  TOO_LONG: 'A stream lives for a day. Open it again from the last cursor that was read.',
  GATEWAY_STOPS: 'This gateway stops. Open it again from the last cursor that was read, and another answers.',
}

export function streamEnded(ending: StreamEndReason): DomainError {
  return new DomainError('STREAM_ENDED', endMessages[ending], { ending })
}
