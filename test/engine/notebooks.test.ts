// A notebook in a container, over the gateway.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as openRequest } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealMarket, startRealMarket } from '../support/engine/real-market.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

let market: RealMarket
let key: string

describeWithEngine.each([
  ['an engine', false],
  ['an agent', true],
])('a notebook on the machine of %s', (_, agent) => {
  beforeAll(async () => {
    market = await startRealMarket(engine, { agent, env: { SSH_PORT: '0', NOTEBOOK_PORT: '0' } })
    key = await market.newKey('renter@example.com')
  })

  afterAll(() => market.stop())

  const ask = (query: string, variables: Record<string, unknown> = {}) => market.ask(key, query, variables)

  it('is opened with its token, until the instance stops', async () => {
    const { offers } = await ask('{ offers(first: 1, filter: {numGpus: {eq: 1}}) { nodes { id } } }')
    const spec = {
      ...{ source: { image: engine.images.notebook }, mode: { jupyter: { directory: '/srv' } } },
      onStart: 'mkdir -p /srv; head -c 20000000 /dev/urandom > /srv/big; sha256sum < /srv/big > /srv/sum',
    }
    const { rentInstance } = await ask(
      `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
        ... on RentInstanceSuccess { instance { id } } ... on Error { message } } }`,
      { input: { offerId: offers.nodes[0].id, spec } },
    )
    const { id } = rentInstance.instance
    const read = async () => {
      const fields = 'status connection { notebookUrl notebookToken } logs { text }'
      return (await ask(`query ($id: ID!) { instance(id: $id) { ${fields} } }`, { id })).instance
    }
    await expect.poll(async () => (await read()).status, { timeout: 45_000 }).toBe('RUNNING')
    const { notebookUrl, notebookToken } = (await read()).connection
    const { host, port } = new URL(notebookUrl)
    const open = async (path: string, token: string) => {
      const headers = { host, authorization: `token ${token}` }
      const outgoing = openRequest({ host: '127.0.0.1', port, path, headers, agent: false })
      outgoing.end()
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk)
      return { status: answer.statusCode, body: Buffer.concat(chunks) }
    }
    await expect.poll(async () => (await open('/sum', notebookToken)).status, { timeout: 30_000 }).toBe(200)
    const begun = performance.now()
    const big = await open('/big', notebookToken)
    process.stdout.write(`20 MB from a container: ${Math.round(performance.now() - begun)} ms\n`)
    const digest = createHash('sha256').update(big.body).digest('hex')
    expect(String((await open('/sum', notebookToken)).body)).toContain(digest)
    const small = performance.now()
    for (let n = 0; n < 10; n += 1) expect((await open('/sum', notebookToken)).status).toBe(200)
    process.stdout.write(`A small file: ${Math.round((performance.now() - small) / 10)} ms\n`)
    expect(await open('/sum', 'wrong')).toMatchObject({ status: 401 })
    // Jupyter gets the same token.
    expect(JSON.stringify((await read()).logs)).toContain(`with token [${notebookToken}]`)

    await ask('mutation ($id: ID!) { stopInstance(input: {id: $id}) { ... on Error { message } } }', { id })
    await expect.poll(async () => (await open('/sum', notebookToken)).status, { timeout: 15_000 }).toBe(503)
    await ask('mutation ($id: ID!) { destroyInstance(input: {id: $id}) { ... on Error { message } } }', { id })
    expect((await open('/sum', notebookToken)).status).toBe(401)
  })
})
