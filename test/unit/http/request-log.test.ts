import { describe, expect, it } from 'vitest'
import { createLog } from '../../../src/http/log.ts'
import type { PlainHandler, PlainRequest } from '../../../src/http/plain.ts'
import { createRequestLog, logPlainRequests, logRequests } from '../../../src/http/request-log.ts'
import type { Handler } from '../../../src/http/router.ts'
import { plainRequest, textOf } from '../../support/plain-request.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function captureLog() {
  const lines: Record<string, unknown>[] = []
  return { lines, begin: createRequestLog(createLog('info', { write: line => void lines.push(JSON.parse(line)) })) }
}

async function ask(request: Request, handler: Handler = async () => new Response('{}')) {
  const { lines, begin } = captureLog()
  return { response: await logRequests(begin, handler)(request), lines }
}

async function askPlainly(handler: PlainHandler, request: Partial<PlainRequest> = {}) {
  const { lines, begin } = captureLog()
  const result = await logPlainRequests(begin, handler)('/graphql', { ...plainRequest({}, ''), ...request })
  return { answer: 'answer' in result ? result.answer : undefined, lines }
}

/** A request whose URL cannot be parsed, as a server may build it from a client's input. */
const unparsableRequest = () => Object.defineProperty(new Request('http://a/'), 'url', { value: 'http://a:b:c/' })

describe('the id of a request', () => {
  it.each(['a', 'trace-1.2_3', 'x'.repeat(64)])("is the client's own: %s", async sentId => {
    const { response, lines } = await ask(new Request('http://a/', { headers: { 'x-request-id': sentId } }))
    expect(response.headers.get('x-request-id')).toBe(sentId)
    expect(lines.map(({ requestId }) => requestId)).toEqual([sentId])
  })

  it.each(['', 'x'.repeat(65), 'a b', 'a"b', 'a/b', 'ä'])(
    'is new if the client sent the invalid id "%s"',
    async sentId => {
      const { response, lines } = await ask(new Request('http://a/', { headers: { 'x-request-id': sentId } }))
      expect(response.headers.get('x-request-id')).toMatch(uuid)
      expect(lines[0]?.['requestId']).toBe(response.headers.get('x-request-id'))
    },
  )
})

describe('a probe', () => {
  it.each([
    ['/ready', 200, []],
    ['/health', 200, []],
    ['/metrics', 200, []],
    ['/ready', 503, [{ level: 30, path: '/ready', status: 503 }]],
    ['/readyx', 200, [{ level: 30, path: '/readyx', status: 200 }]],
  ])('of %s that is answered with %d leaves these lines at the level info: %j', async (path, status, expected) => {
    const { lines } = await ask(new Request(`http://a${path}`), async () => new Response('{}', { status }))
    expect(lines).toMatchObject(expected)
    expect(lines).toHaveLength(expected.length)
  })
})

describe('a request that fails', () => {
  it('gets an answer with the request id and no other detail', async () => {
    const { response, lines } = await ask(new Request('http://a/x?api_key=k', { method: 'PUT' }), () =>
      Promise.reject(new Error('a secret')),
    )
    const requestId = response.headers.get('x-request-id')
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({
      success: false,
      error: 'internal_error',
      msg: `The gateway failed to process the request. Report the request id ${requestId} to its operator.`,
    })
    expect(lines).toMatchObject([
      { level: 50, requestId, err: { message: 'a secret' } },
      { level: 30, requestId, method: 'PUT', path: '/x', status: 500 },
    ])
  })

  it('gets a 500 if its URL cannot be parsed', async () => {
    const { response, lines } = await ask(unparsableRequest())
    expect(response.status).toBe(500)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(lines).toMatchObject([{ msg: 'A request failed.' }, { status: 500 }])
  })
})

describe('a plain request', () => {
  it('gets an answer with the request id and no other detail if it fails', async () => {
    const { answer, lines } = await askPlainly(() => Promise.reject(new Error('a secret')))
    const requestId = answer?.headers['x-request-id']
    expect(requestId).toMatch(uuid)
    expect(answer?.status).toBe(500)
    expect(JSON.parse(answer ? textOf(answer) : '')).toMatchObject({
      error: 'internal_error',
      msg: expect.stringContaining(`${requestId}`),
    })
    expect(answer?.body).not.toContain('a secret')
    expect(lines).toMatchObject([
      { level: 50, requestId, err: { message: 'a secret' } },
      { level: 30, requestId, method: 'POST', path: '/graphql', status: 500 },
    ])
  })

  it('leaves no line in the log if another handler answers it', async () => {
    expect(await askPlainly(() => Promise.resolve(undefined))).toEqual({ answer: undefined, lines: [] })
  })

  it('leaves one line with one id if another handler answers it', async () => {
    const { lines, begin } = captureLog()
    const result = await logPlainRequests(begin, () => Promise.resolve(undefined))('/graphql', plainRequest({}, ''))
    const begun = 'begun' in result ? result.begun : undefined
    const response = await logRequests(begin, async () => new Response('{}'))(new Request('http://a/x'), { begun })
    expect(response.headers.get('x-request-id')).toBe(begun?.requestId)
    expect(lines).toMatchObject([{ requestId: begun?.requestId, path: '/x', status: 200 }])
  })
})

describe('a client that disconnects', () => {
  const gone = { level: 30, status: 499 }

  it.each<[string, PlainHandler]>([
    ['before its answer', () => Promise.resolve({ status: 200, headers: {}, body: '{}' })],
    ['so that its request fails', () => Promise.reject(new Error('aborted'))],
  ])('%s leaves a line with the status 499, and no error', async (_, handler) => {
    expect((await askPlainly(handler, { isDisconnected: () => true })).lines).toMatchObject([gone])
    const signal = AbortSignal.abort()
    const asResponse: Handler = async (_request, context) => {
      const answer = await handler(plainRequest({}, ''), context)
      return new Response(answer && textOf(answer))
    }
    expect((await ask(new Request('http://a/', { signal }), asResponse)).lines).toMatchObject([gone])
  })
})
