// Subscriptions as clients read them.

export type Result = {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the test asked for
  data?: any
  errors?: { message: string; extensions: Record<string, unknown> }[]
}

export type Subscription = {
  status: number
  /** The next result; undefined when the stream is complete. Throws when it breaks off. */
  next(): Promise<Result | undefined>
  /** All that still come. */
  rest(): Promise<Result[]>
  close(): Promise<void>
}

type Ask = (request: Request) => Promise<Response>

export type SseOptions = { url?: string; method?: 'GET' | 'POST'; headers?: Record<string, string> }

/** Subscribes over Server-Sent Events. */
export async function subscribeSse(
  fetch: Ask,
  key: string,
  query: string,
  { url = 'http://berth.test/graphql', method = 'POST', headers = {} }: SseOptions = {},
): Promise<Subscription> {
  const all = {
    accept: 'text/event-stream',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...headers,
  }
  const closing = new AbortController()
  const { signal } = closing
  const response = await fetch(
    method === 'GET'
      ? new Request(`${url}?query=${encodeURIComponent(query)}`, { headers: all, signal })
      : new Request(url, { method, headers: all, signal, body: JSON.stringify({ query }) }),
  )
  const messages = messagesOf(response.body as ReadableStream<Uint8Array>)
  const next = async () => {
    const { value } = await messages.next()
    return value && JSON.parse(value)
  }
  return {
    status: response.status,
    next,
    async rest() {
      const results: Result[] = []
      for (let result = await next(); result; result = await next()) results.push(result)
      return results
    },
    async close() {
      closing.abort()
      await messages.return(undefined).catch(() => {})
    },
  }
}

/** The data of every `next`, until `complete`. */
async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() as string
    for (const block of blocks) {
      const [event, data] = ['event', 'data'].map(name => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1])
      if (event === 'complete') return
      if (event === 'next') yield data as string
    }
  }
  throw new Error('The stream broke off.')
}
