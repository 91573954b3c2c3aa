import type { TypedDocumentString } from '../client/generated.ts'
import { readMessages } from './streams.ts'

type Answer<Data> = { data?: Data | null; errors?: { message: string; extensions: { code: string } }[] }

type ClientOptions = {
  /** Return what was answered if some fields were refused: they are null. Otherwise any entry under `errors` is thrown. */
  partial?: boolean
  onRequest?: () => void
}

/** A client with an API key. Typed errors are answers. Entries under `errors` are thrown, with their codes. */
export function createTypedClient(url: string, key: string, { partial, onRequest }: ClientOptions = {}) {
  return async function ask<Data, Variables>(
    operation: TypedDocumentString<Data, Variables>,
    ...[variables]: Variables extends Record<string, never> ? [] : [variables: Variables]
  ): Promise<Data> {
    onRequest?.()
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: operation.toString(), variables }),
    })
    const { data, errors } = (await response.json()) as Answer<Data>
    if ((errors && !partial) || !data) {
      throw new Error(errors?.map(({ message, extensions }) => `${extensions.code}: ${message}`).join('\n'))
    }
    return data
  }
}

/** A client that subscribes over Server-Sent Events. A stream ends with the loop that reads it. */
export function createTypedStream(url: string, key: string, { onRequest }: ClientOptions = {}) {
  return async function* stream<Data, Variables>(
    operation: TypedDocumentString<Data, Variables>,
    variables: Variables,
  ): AsyncGenerator<Data> {
    onRequest?.()
    const closing = new AbortController()
    const { body } = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { accept: 'text/event-stream', authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: operation.toString(), variables }),
      signal: closing.signal,
    })
    if (!body) throw new Error('The stream has no body.')
    try {
      for await (const message of readMessages(body.getReader())) {
        const { data, errors }: Answer<Data> = JSON.parse(message)
        if (errors || !data) throw new Error(errors?.map(error => error.message).join('\n'))
        yield data
      }
    } finally {
      closing.abort()
    }
  }
}

/** Returns the answer if it is of this type. Otherwise throws the answer as JSON, which shows the reason. */
export function expectTypename<Answer extends { __typename: string }, Name extends Answer['__typename']>(
  name: Name,
  answer: Answer | null,
): Extract<Answer, { __typename: Name }> {
  if (answer?.__typename !== name) throw new Error(`Not a ${name}: ${JSON.stringify(answer)}`)
  return answer as Extract<Answer, { __typename: Name }>
}
