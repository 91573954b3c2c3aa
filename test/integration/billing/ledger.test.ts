import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let key: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  // Makes the ids of entries differ from all other ids.
  await app.sql('ALTER SEQUENCE ledger_entries_id_seq RESTART 7000001')
  rentals = rentalsOf(app)
  stranger = await app.newKey(null, someCredit)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const about = `actor { kind ... on ApiKeyActor { apiKeyId } } subjectId
  subject { __typename id ... on Instance { label } ... on Volume { name } ... on Account { credit } }`
const lines = `id kind amount balanceAfter startsAt endsAt costPerHour carried ${about} note postedAt`

async function ledger(
  of: string,
  args = '',
  fields = `totalCount nodes { ${lines} } pageInfo { hasNextPage endCursor }`,
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
): Promise<any> {
  const { data, errors } = await app.graphql(of, `{ viewer { account { ledger${args} { ${fields} } } } }`)
  return errors ? { errors } : data.viewer.account.ledger
}

/** Rents an instance, then stops and starts it this many times. Each stop makes one GPU charge. */
async function charged(times: number): Promise<number> {
  const id = await rentals.rent(key, { label: 'mine' })
  for (let time = 1; time <= times; time += 1) {
    await rentals.converge()
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await rentals.converge()
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
  }
  return id
}

describe('the ledger', () => {
  it('has an entry for each grant and each period of running GPUs', async () => {
    const id = await charged(1)
    const { data } = await app.graphql(key, '{ viewer { account { id credit apiKeys { id } } } }')
    const { id: accountId, credit, apiKeys } = data.viewer.account
    const { totalCount, nodes } = await ledger(key)
    const nothing = { startsAt: null, endsAt: null, costPerHour: null, carried: null, note: null }
    const ofAccount = { subjectId: accountId, subject: { __typename: 'Account', id: accountId, credit } }
    const [charge, grant] = nodes
    expect([totalCount, nodes.length]).toEqual([2, 2])
    expect(grant).toMatchObject({ kind: 'TOP_UP', amount: '100', balanceAfter: '100', ...nothing, ...ofAccount })
    expect(grant.actor).toEqual({ kind: 'OPERATOR' })
    const seconds = (Date.parse(charge.endsAt) - Date.parse(charge.startsAt)) / 1000
    // 400,000,000 nano-dollars per 3,600 seconds.
    const nanos = Math.floor((400_000_000 * seconds) / 3600)
    expect(charge).toEqual({
      id: expect.stringMatching(/^led_\d+$/),
      kind: 'GPU',
      amount: `-0.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`,
      balanceAfter: `99.${String(1_000_000_000 - nanos).replace(/0+$/, '')}`,
      startsAt: expect.any(String),
      endsAt: charge.postedAt,
      costPerHour: '0.4',
      carried: 0,
      actor: { kind: 'API_KEY', apiKeyId: apiKeys[0].id },
      subjectId: `ins_${id}`,
      subject: { __typename: 'Instance', id: `ins_${id}`, label: 'mine' },
      note: null,
      postedAt: expect.any(String),
    })
  })

  it('shows operators the same charges with their carried parts', async () => {
    await charged(3)
    const { nodes } = await ledger(key, '(filter: {kinds: [GPU]})')
    const { data } = await app.graphql(key, '{ viewer { account { id } } }')
    const page = await app.operations.accounts.ledgerPage(Number(data.viewer.account.id.replace(/\D+/, '')), 0, 100)
    const charges = page.filter(({ kind }) => kind === 'gpu')
    const carried = charges.map(charge => charge.carried)
    expect(carried).toEqual(nodes.map((node: { carried: number }) => node.carried).toReversed())
    expect(new Set(carried).size).toBeGreaterThan(1)
  })

  it('has pages from either end that stay stable while it grows', async () => {
    await charged(5)
    const all = (await ledger(key)).nodes.map(({ id }: { id: string }) => id)
    expect(all).toHaveLength(6)
    expect(all).toEqual([...all].sort((a, b) => Number(b.slice(4)) - Number(a.slice(4))))
    const paged: string[] = []
    for (let after = ''; ; ) {
      const page = await ledger(key, `(first: 4${after && `, after: "${after}"`})`)
      paged.push(...page.nodes.map(({ id }: { id: string }) => id))
      if (!page.pageInfo.hasNextPage) break
      after = page.pageInfo.endCursor
      await app.operations.accounts.grantCredit(await emailOf(key), { amountNanos: 1n })
    }
    expect(paged).toEqual(all)
    const oldest = await ledger(key, '(last: 2)', 'nodes { id } pageInfo { hasPreviousPage startCursor }')
    expect(oldest.nodes.map(({ id }: { id: string }) => id)).toEqual(all.slice(-2))
    const before = await ledger(key, `(last: 2, before: "${oldest.pageInfo.startCursor}")`, 'nodes { id }')
    expect(before.nodes.map(({ id }: { id: string }) => id)).toEqual(all.slice(-4, -2))
  })

  it('is filtered by kinds, subjects and time', async () => {
    const [one, other] = [await charged(1), await charged(2)]
    const count = async (filter: string) => (await ledger(key, `(filter: { ${filter} })`)).nodes.length
    expect(await count('kinds: [TOP_UP]')).toBe(1)
    expect(await count('kinds: [GPU]')).toBe(3)
    expect(await count('kinds: []')).toBe(0)
    expect([await count(`subjectIds: ["ins_${one}"]`), await count(`subjectIds: ["ins_${other}"]`)]).toEqual([1, 2])
    const [newest] = (await ledger(key)).nodes
    expect(await count(`postedAt: { gte: "${newest.postedAt}" }`)).toBe(1)
    expect(await count(`postedAt: { lt: "${newest.postedAt}" }`)).toBe(3)
    const [at, others] = [`"${newest.postedAt}"`, `postedAt: null, kinds: null, subjectIds: null`]
    expect(await count(`postedAt: { gt: ${at} }`)).toBe(0)
    expect([await count(`postedAt: { gte: ${at}, lte: ${at} }`), await count(others)]).toEqual([1, 4])
  })

  it('is filtered by volumes, and by the account for entries that are for neither', async () => {
    const id = await charged(1)
    const { machine_id } = await rentals.read(key, id)
    const volume = await volumesOf(app).make(key, machine_id, 20)
    app.clock.advance(3_600_000)
    await app.rest(key, 'DELETE', `/volumes/?id=${volume}`)
    const kinds = async (...ids: string[]) => {
      const { nodes } = await ledger(key, `(filter: { subjectIds: ${JSON.stringify(ids)} })`, 'nodes { kind }')
      return nodes.map(({ kind }: { kind: string }) => kind)
    }
    const { data } = await app.graphql(key, '{ viewer { account { id } } }')
    expect(await kinds(`vol_${volume}`)).toEqual(['DISK'])
    expect(await kinds(data.viewer.account.id)).toEqual(['TOP_UP'])
    expect(await kinds(data.viewer.account.id, `vol_${volume}`, `ins_${id}`)).toEqual(['DISK', 'GPU', 'TOP_UP'])
    expect(await kinds()).toEqual([])
    const { data: other } = await app.graphql(stranger, '{ viewer { account { id } } }')
    expect(await kinds(other.viewer.account.id)).toEqual([])
  })

  it.each(['42', 'key_1', 'ins_', 'ins_x', ''])('refuses %j as the ID of a subject', async id => {
    const { errors } = await ledger(key, `(filter: { subjectIds: ["${id}"] })`)
    expect(errors[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', issues: [{ path: 'filter.subjectIds.0' }] })
  })

  it('refuses an invalid filter with all issues', async () => {
    const ids = Array.from({ length: 101 }, (_, index) => `"ins_${index + 1}"`).join(' ')
    const wrong = `(filter: { subjectIds: [${ids}], postedAt: { gte: "2026-11-21T00:00:00Z", lt: "2026-11-21T00:00:00Z" } })`
    const { errors } = await ledger(key, wrong)
    expect(errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      issues: [
        { path: 'filter.subjectIds', message: 'takes at most 100 ids, not 101.' },
        { path: 'filter.postedAt', message: 'matches no time: it must end later than it starts.' },
      ],
    })
    const cursor = (await app.graphql(key, '{ events(first: 1) { pageInfo { endCursor } } }')).data.events.pageInfo
      .endCursor
    expect((await ledger(key, `(after: "${cursor}")`)).errors[0].extensions.code).toBe('INVALID_CURSOR')
  })

  it('hides the entries of other accounts, and answers their ids like unknown ids', async () => {
    const id = await charged(1)
    const [entry] = (await ledger(key)).nodes
    const ask = async (of: string, entryId: string, instanceId: number | string) => {
      const found = await app.graphql(of, `{ node(id: "${entryId}") { id ... on LedgerEntry { amount subjectId } } }`)
      return [found.data.node, (await ledger(of, `(filter: { subjectIds: ["ins_${instanceId}"] })`)).totalCount]
    }
    expect(await ask(key, entry.id, id)).toEqual([{ id: entry.id, amount: entry.amount, subjectId: `ins_${id}` }, 1])
    expect(await ask(stranger, entry.id, id)).toEqual([null, 0])
    expect(await ask(stranger, 'led_987654321', 987_654_321)).toEqual([null, 0])
  })

  it('is read with one statement, and of each entry only what is asked for', async () => {
    await charged(1)
    const [{ id }] = (await ledger(key)).nodes
    const readsOf = async (query: string) => {
      const sent = await captureQueries(async () => {
        expect((await app.graphql(key, query)).errors).toBeUndefined()
      })
      return sent.filter(text => text.includes('ledger_entries'))
    }
    const queries = [
      '{ viewer { account { ledger { nodes { id amount subjectId } } } } }',
      '{ viewer { account { ledger { edges { node { id amount } } nodes { subjectId } } } } }',
      `{ nodes(ids: ["${id}"]) { ... on LedgerEntry { id amount subjectId } } }`,
    ]
    for (const query of queries) {
      const reads = await readsOf(query)
      expect(reads, query).toHaveLength(1)
      const columns = /SELECT (.*?)\s+FROM/s.exec(reads[0] ?? '')?.[1]?.split(/,\s*/)
      expect(columns?.toSorted()).toEqual(['e.amount_nanos', 'e.id', 'm.id', 'm.instance_id', 'm.volume_id'])
    }
  })

  it('takes as many statements for 100 entries of instances and volumes as for 20', async () => {
    const ids: number[] = []
    const kept: number[] = []
    const volumes = volumesOf(app)
    const machine = await volumes.newMachine()
    // The disk of each instance and each volume is charged once a day.
    while (kept.length < 5) kept.push(await volumes.make(key, machine, 10))
    while (ids.length < 15) ids.push(await rentals.rent(key, { target_state: 'stopped' }))
    for (let day = 0; day < 5; day += 1) {
      app.clock.advance(24 * 3_600_000)
      await app.runUntilIdle()
    }
    for (const id of ids) await app.rest(key, 'DELETE', `/instances/${id}/`)
    const count = async (args: string, rows: number) => {
      const statements = await captureQueries(async () => {
        expect((await ledger(key, args, `nodes { ${lines} }`)).nodes).toHaveLength(rows)
      })
      return statements.length
    }
    const types = async (args: string) => {
      const { nodes } = await ledger(key, args, 'nodes { subject { __typename } }')
      return new Set(nodes.map(({ subject }: { subject: { __typename: string } }) => subject.__typename))
    }
    const [many, few] = ['(first: 100, filter: { kinds: [DISK] })', '(last: 20, filter: { kinds: [DISK] })']
    const both = new Set(['Instance', 'Volume'])
    expect([await types(many), await types(few)]).toEqual([both, both])
    expect(await count(many, 100)).toBe(await count(few, 20))
  })
})

const period = 'startsAt: "2026-11-01T00:00:00Z", endsAt: "2026-12-01T00:00:00Z"'

it.each([
  ['ledger', 'LEDGER', `{ viewer { account { ledger { totalCount nodes { id } } } } }`],
  ['ledger entry', 'LEDGER', `{ node(id: "led_7000001") { id } }`],
  ['usage', 'USAGE', `{ viewer { account { usage(${period}) { cost } } } }`],
])('refuses the %s to a key without billing_read', async (_name, operation, query) => {
  const permissions = { api: { user_read: {}, instance_read: {}, billing_write: {}, misc: {} } }
  const { errors } = await app.graphql(await app.newScopedKey(key, permissions), query)
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'FORBIDDEN', missing: [operation] })
  const allowed = await app.newScopedKey(key, { api: { user_read: {}, billing_read: {} } })
  expect((await app.graphql(allowed, query)).errors).toBeUndefined()
})

async function emailOf(of: string): Promise<string> {
  return (await app.graphql(of, '{ viewer { account { email } } }')).data.viewer.account.email
}
