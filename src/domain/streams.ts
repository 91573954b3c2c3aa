import { DomainError, type StreamEndReason } from './errors.ts'

/** How many streams may be open on one gateway: per key, per account, and in total. Some connections of the 2,000 stay for others. */
export type StreamLimits = { perKey: number; perAccount: number; total: number }
export const streamLimits: StreamLimits = { perKey: 32, perAccount: 256, total: 1_500 }
/** Longest life of a stream. Its reader then opens a new one from the last cursor. */
export const maxStreamMs = 24 * 3_600_000
/** A reader that falls further behind loses its stream: one slow reader must not fill the gateway's memory. */
export const maxBufferedEvents = 1_000

export function tooManyStreams(message: string): DomainError {
  return new DomainError('TOO_MANY_STREAMS', message)
}

const endMessages: Record<StreamEndReason, string> = {
  KEY_ENDED: 'The key that opened this stream was revoked or reset, or has expired, or its account was disabled.',
  KEY_CHANGED:
    'The permissions of the key that opened this stream have changed. Open it again from the last cursor you read, or without a cursor if that one is answered with CURSOR_EXPIRED.',
  TOO_SLOW: `More than ${maxBufferedEvents} events of this stream were unread. Open it again from the last cursor you read.`,
  TOO_LONG: 'This stream has reached the maximum of 24 hours. Open it again from the last cursor you read.',
  GATEWAY_STOPS:
    'This gateway is stopping. Open the stream again from the last cursor you read: another gateway answers.',
}

export function streamEnded(ending: StreamEndReason): DomainError {
  return new DomainError('STREAM_ENDED', endMessages[ending], { ending })
}
