import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let many: string
let one: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  one = await app.newKey(null, someCredit)
  many = await app.newKey(null, someCredit)
  const atBid = { env: { '-p 80:80': '1' }, price: 0.25 }
  await rentals.rent(one, atBid)
  for (let count = 1; count <= 50; count += 1) await rentals.rent(many, atBid)
  await rentals.converge()
})

afterAll(() => app.close())

const fields = `id status minimumBidPerHour offer { id price { pricePerHour } machine { id country } gpu { id } } machine { id country }
  gpu { id } actions { action } connection { ports { hostPort } } launch { image }`

describe('a list of instances', () => {
  it('runs as many statements for 50 instances with offer, machine and ports as for one', async () => {
    const query = `{ instances(first: 50) { totalCount nodes { ${fields} } } }`
    const count = async (key: string, rows: number) => {
      let found: { connection: { ports: unknown[] }; offer: unknown; minimumBidPerHour: string }[] = []
      const statements = await captureQueries(async () => {
        const { data, errors } = await app.graphql(key, query)
        expect(errors).toBeUndefined()
        found = data.instances.nodes
      })
      expect(found.map(({ connection }) => connection.ports.length)).toEqual(Array(rows).fill(2))
      expect(found.every(({ minimumBidPerHour }) => minimumBidPerHour === '0.2')).toBe(true)
      return statements.length
    }
    // New connections of the pool are checked.
    await count(many, 50)
    expect(await count(many, 50)).toBe(await count(one, 1))
  })

  it('needs one statement with offers, machines, templates and volumes, and another for the key once a second', async () => {
    const fields = `id label offer { id price { pricePerHour } } machine { id gpu { name } } template { id name }
      volumes { mountPath volume { id name machine { gpu { name } } } }`
    const query = `{ instances(first: 50) { nodes { ${fields} } } }`
    await app.graphql(many, query)
    expect(await captureQueries(() => app.graphql(many, query))).toHaveLength(1)
  })

  it('reads two columns for two fields', async () => {
    const [statement] = await captureQueries(() => app.graphql(many, '{ instances { nodes { label numGpus } } }'))
    // The last two are the position for the cursor.
    expect(columnsOf(statement)).toEqual(['i.id', 'i.label', 'i.num_gpus', '(i.id)::text', 'i.id'])
  })

  it('reads of volumes what two fields need', async () => {
    const query = '{ instances { nodes { volumes { mountPath volume { name } } } } }'
    const [statement = ''] = await captureQueries(() => app.graphql(many, query))
    const [, columns] = /json_build_array\((.*?)\) ORDER BY/s.exec(statement) ?? []
    // The key of the attachment is always read.
    expect(columns).toBe('v.id::text,v.name,a.volume_id::text,a.instance_id::text,a.mount_path')
  })

  it('reads what each request asks for with the same document', async () => {
    const query = `query ($all: Boolean!) { instances(first: 1) { nodes { ...fields @include(if: $all) numGpus } } }
      fragment fields on Instance { label }`
    for (const all of [false, true, false]) {
      const [statement] = await captureQueries(async () => {
        const { data } = await app.graphql(one, query, { all })
        expect(data.instances.nodes).toEqual([{ ...(all && { label: null }), numGpus: 1 }])
      })
      expect(statement?.includes('i.label')).toBe(all)
    }
    const merged = `{ a: instances(first: 1) { nodes { ...instance } }
      b: instances(first: 1) { nodes { ...instance events(first: 1) { nodes { kind } } } } }
      fragment instance on Instance { events(first: 1) { nodes { id } } }`
    for (const _ of [1, 2]) {
      const { data } = await app.graphql(one, merged)
      const event = { id: expect.any(String) }
      expect(data.a.nodes[0].events.nodes).toEqual([event])
      expect(data.b.nodes[0].events.nodes).toEqual([{ ...event, kind: expect.any(String) }])
    }
  })

  it('runs one statement over REST for any number of rows', async () => {
    for (const [key, rows] of [[one, 1] as const, [many, 50] as const]) {
      const statements = await captureQueries(async () => {
        const { body } = await app.rest(key, 'GET', '/instances/')
        expect(body.instances).toHaveLength(rows)
      })
      expect(statements).toHaveLength(1)
    }
  })
})

describe('a rental', () => {
  const rent = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
    ... on RentInstanceSuccess { instance { id } replayed } ... on Error { code message } } }`
  async function statementsOf(key: string, more: object = {}): Promise<string[]> {
    const offerId = await rentals.newOffer()
    const input = { offerId, spec: { source: { image: 'ubuntu' } }, ...more }
    return await captureQueries(async () => {
      const { data } = await app.graphql(key, rent, { input })
      expect(data.rentInstance).toEqual({ instance: { id: expect.any(String) }, replayed: false })
    })
  }

  it('sends six statements besides that for the key, and one more with an idempotency key', async () => {
    const words = (statements: string[]) => statements.map(statement => statement.trim().split(/\s/)[0])
    // BEGIN, the lock of the machine, what is decided on, all that is written, the admission of the account, COMMIT.
    expect(words(await statementsOf(one))).toEqual(['BEGIN;', 'WITH', 'SELECT', 'WITH', 'SELECT', 'COMMIT'])
    expect(await statementsOf(one, { idempotencyKey: 'rent with a key' })).toHaveLength(7)
  })
})

describe('a bulk command', () => {
  /** Rents instances on one machine. Each is stopped, so that the next can rent the GPU. */
  async function onOneMachine(count: number): Promise<number[]> {
    const key = many
    const first = await rentals.rent(key, { target_state: 'stopped' }, { diskMb: 10_000_000 })
    const { machine_id } = await rentals.read(key, first)
    const ids = [first]
    while (ids.length < count) {
      const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
      const request = { image: 'ubuntu', target_state: 'stopped' }
      const made = await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, request)
      ids.push(made.body.new_contract)
    }
    return ids
  }

  it('on 64 instances of one machine runs as many statements as on 2', async () => {
    const [few, all] = [await onOneMachine(2), await onOneMachine(64)]
    const changes = [{ state: 'running', label: 'batch' }, { state: 'stopped' }, { label: 'done' }]
    for (const change of changes) {
      const count = async (ids: number[]) => {
        const statements = await captureQueries(async () => {
          expect((await app.rest(many, 'PUT', '/instances/', { ids, ...change })).body).toEqual({ success: true })
        })
        return statements.length
      }
      expect([change, await count(all)]).toEqual([change, await count(few)])
    }
    const destroy = async (ids: number[]) => {
      const input = { target: { ids: ids.map(String) } }
      const statements = await captureQueries(() =>
        app.graphql(
          many,
          `mutation ($input: DestroyInstancesInput!) { destroyInstances(input: $input) {
            ... on DestroyInstancesSuccess { succeededCount items { instance { id status } } } } }`,
          { input },
        ),
      )
      return statements.length
    }
    expect(await destroy(all)).toBe(await destroy(few))
  })
})

/** What a statement selects, in the order of its text but for the first, which is always the id. */
function columnsOf(statement = ''): string[] {
  const [, columns = ''] = /SELECT (.*?) FROM/s.exec(statement) ?? []
  return columns.split(',').map(column => column.trim())
}
