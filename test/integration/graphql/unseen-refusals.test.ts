// A mutation that was refused is no success to a client that selects nothing of its errors.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { openRawSocket, serveApp } from '../../support/streams.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

const success = '... on DestroyInstanceSuccess { instance { id } }'
const destroy = (selection: string, name = '') =>
  `${name && `${name}: `}destroyInstance(input: {id: "ins_99"}) { ${selection} }`
const message = 'Refused (NOT_FOUND): Instance ins_99 not found. Select "... on Error { code message }" to see it.'

async function hintsOf(query: string) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const request = new Request('http://berth.test/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) })
  const { data, errors, extensions } = await app.fetch(request).then(answer => answer.json())
  expect(errors).toBeUndefined()
  return { data, hints: extensions.hints }
}

it.each([
  ['only the success', success],
  ['another error', `${success} ... on InvalidInputError { message }`],
  ['a fragment', '...Success'],
  ['what a directive leaves out', `${success} ... on Error @skip(if: true) { code }`],
])('hints at a refusal where the client selects %s', async (_, selection) => {
  const query = `mutation { ${destroy(selection)} }${selection === '...Success' ? fragment : ''}`
  expect(await hintsOf(query)).toEqual({
    data: { destroyInstance: {} },
    hints: [{ path: ['destroyInstance'], message }],
  })
})

const fragment = ` fragment Success on DestroyInstanceResult { ${success} }`

it.each([
  ['the error', '... on Error { code }'],
  ['its type', '__typename'],
  ['a field of its own', '... on NotFoundError { id }'],
])('gives no hint where the client selects %s', async (_, selection) => {
  const { hints } = await hintsOf(`mutation { ${destroy(`${success} ${selection}`)} }`)
  expect(hints).toBeUndefined()
})

it('names each mutation by its alias', async () => {
  const stop = 'stopInstance(input: {id: "ins_99"}) { __typename }'
  const query = `mutation { ${destroy(success, 'a')} ${stop} ${destroy('... on Error { code }', 'b')} ${destroy(success, 'c')} }`
  expect(await hintsOf(query)).toEqual({
    data: { a: {}, stopInstance: { __typename: 'NotFoundError' }, b: { code: 'NOT_FOUND' }, c: {} },
    hints: [
      { path: ['a'], message },
      { path: ['c'], message },
    ],
  })
})

it('gives no hint where a success has nothing that was selected', async () => {
  const create =
    'createSpendLimit(input: {subject: {account: true}, window: DAY, amount: "1"}) { ... on Error { code } }'
  expect(await hintsOf(`mutation { ${create} }`)).toEqual({ data: { createSpendLimit: {} }, hints: undefined })
})

it('hints over a WebSocket, too', async () => {
  const server = await serveApp(app)
  const raw = await openRawSocket(server.url)
  raw.say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
  await expect.poll(() => raw.heard).toHaveLength(1)
  raw.say({ type: 'subscribe', id: '1', payload: { query: `mutation { ${destroy(success)} }` } })
  await expect
    .poll(() => raw.heard[1])
    .toMatchObject({ id: '1', payload: { extensions: { hints: [{ path: ['destroyInstance'], message }] } } })
  raw.socket.close()
  await server.close()
})
