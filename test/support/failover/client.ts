// What a renter asks of one of two gateways.

type Answer = {
  // biome-ignore lint/suspicious/noExplicitAny: depends on the query
  data?: any
  extensions?: Record<string, unknown>
  errors?: { message: string; extensions: { code: string } }[]
}

export async function newestCursor({ ask }: Pick<ReturnType<typeof createClient>, 'ask'>): Promise<string> {
  return (await ask('{ events(last: 1) { pageInfo { endCursor } } }')).data.events.pageInfo.endCursor
}

export function createClient(url: string, apiKey: string) {
  async function ask(query: string, variables: object = {}): Promise<Answer> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(15_000),
    })
    return (await response.json()) as Answer
  }
  /** Runs a mutation with one field and an input. Returns its success. */
  async function change(field: string, input: object, selected = '__typename') {
    const type = `${field.charAt(0).toUpperCase()}${field.slice(1)}`
    const { data, errors } = await ask(
      `mutation ($input: ${type}Input!) { answer: ${field}(input: $input) {
        ... on ${type}Success { ${selected} } ... on Error { code message } } }`,
      { input },
    )
    if (!data?.answer || 'code' in data.answer) throw new Error(JSON.stringify(errors ?? data))
    return data.answer
  }
  return {
    ask,
    change,
    async rent(offerId: number, idempotencyKey: string): Promise<string> {
      const spec = { source: { image: 'ubuntu' } }
      const { instance } = await change(
        'rentInstance',
        { offerId: String(offerId), idempotencyKey, spec },
        'instance { id }',
      )
      return instance.id.replace('ins_', '')
    },
    /** The code with which a query is refused; undefined if it is answered. */
    codeOf: async (query: string): Promise<string | undefined> => (await ask(query)).errors?.[0]?.extensions.code,
  }
}
