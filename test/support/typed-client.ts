import type { TypedDocumentString } from '../client/generated.ts'

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

/** Returns the answer if it is of this type. Otherwise throws the answer as JSON, which shows the reason. */
export function expectTypename<Answer extends { __typename: string }, Name extends Answer['__typename']>(
  name: Name,
  answer: Answer | null,
): Extract<Answer, { __typename: Name }> {
  if (answer?.__typename !== name) throw new Error(`Not a ${name}: ${JSON.stringify(answer)}`)
  return answer as Extract<Answer, { __typename: Name }>
}
