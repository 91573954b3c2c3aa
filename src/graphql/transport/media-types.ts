// What a request accepts as its answer.

import { parseAccept } from '../../http/accept.ts'

export type MediaType = 'application/json' | 'application/graphql-response+json'

/** The media type of results, if there is one, and whether a subscription can be streamed. */
export type Accepted = { mediaType: MediaType | undefined; stream: boolean }

/** What a plain request accepts; undefined for Accept headers that Yoga judges itself. */
export function acceptedBy(accept = '*/*'): Accepted | undefined {
  const asked = accept.split(',').map(part => part.trim())
  if (asked.some(part => !/^[a-z*]+\/[a-z+*-]+(; ?q=[\d.]+)?$/.test(part))) return undefined
  const [mediaType] = asked.flatMap(part => mediaTypes.get(part.replace(/;.*/, '')) ?? [])
  const stream = acceptsStream(accept)
  return mediaType || stream ? { mediaType, stream } : undefined
}

/** A wildcard does not count: a client that sends its default Accept would wait for the end of the stream. */
export function acceptsStream(accept: string | null): boolean {
  // Yoga ignores what asks for another charset: it would open the stream, but could not answer with it.
  const parts = (accept ?? '').split(',').filter(part => !/charset\s*=\s*(?!utf-8\s*(;|$))/i.test(part))
  return parseAccept(parts.join(',')).includes('text/event-stream')
}

const mediaTypes = new Map<string, MediaType>([
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json', 'application/json'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
])

export function contentTypeOf(mediaType: MediaType): Record<string, string> {
  return { 'content-type': `${mediaType}; charset=utf-8` }
}
