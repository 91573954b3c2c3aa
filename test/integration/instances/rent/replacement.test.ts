// Instances that do not run in time are replaced, if their renter asked for it.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { previewStatements } from '../../../support/database/captured-statements.ts'
import { openGateway } from '../../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

const minute = 60_000
const slow = 'simulated/slow-pull:86400'

let app: TestApp
let rentals: Rentals
let key: string
let country: string
let machines: number[]
let tests = 0

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  tests += 1
  country = `${String.fromCharCode(65 + (tests % 26))}${tests < 26 ? 'X' : 'Y'}`
  key = await app.newKey(null, someCredit)
  machines = [await newMachine(0.2), await newMachine(0.3), await newMachine(0.4)]
})

async function newMachine(dollars: number): Promise<number> {
  const offerId = await rentals.newOffer({ country, gpuNanos: BigInt(dollars * 1e9) })
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
  return (row as { machine_id: number }).machine_id
}

async function rentBest(input: object = {}, by = key) {
  const request = {
    filter: { country: { eq: country } },
    terms: { onDemand: { maxPricePerHour: '1' } },
    spec: { source: { image: 'ubuntu' } },
    replace: { within: '10m', attempts: 3 },
    ...input,
  }
  const query = `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) {
    ... on RentBestOfferSuccess { replayed instance { ${fields} } } ... on Error { code message }
    ... on InvalidInputError { issues { path message } } } }`
  const { data, errors } = await app.graphql(by, query, { input: request })
  expect(errors).toBeUndefined()
  return data.rentBestOffer
}

const fields = `id status label targetState idempotencyKey machine { id } statusReason { code message }
  policy { stopAtCost replace { within attemptsLeft } } launch { image env { name value } sources { image } }
  replaces { id } replacedBy { id }`

async function read(id: string) {
  return (await app.graphql(key, `{ instance(id: "${id}") { ${fields} } }`)).data.instance
}

const onMachine = (index: number) => ({ machine: { id: `mch_${machines[index]}` } })
const rentedId = async (input: object = {}): Promise<string> => (await rentBest(input)).instance.id

async function pass(minutes: number): Promise<void> {
  for (let count = 1; count <= minutes; count += 1) {
    app.clock.advance(minute)
    await app.runUntilIdle()
  }
}

/** How many instances the account has rented. */
async function instancesOf(): Promise<number> {
  const { data } = await app.graphql(
    key,
    '{ events(first: 100, filter: { kinds: [INSTANCE_CREATED] }) { nodes { id } } }',
  )
  return data.events.nodes.length
}

async function eventsOf(id: string) {
  const query = `{ events(first: 50, filter: { subjectIds: ["${id}"] }) {
    nodes { kind reason { code } actor { __typename } message changes { field after } } } }`
  return (await app.graphql(key, query)).data.events.nodes
}

/** What was charged for an instance, less what was refunded. */
async function costOf(id: string): Promise<unknown> {
  const [row] = await app.sql(`SELECT coalesce(sum(e.amount_nanos), 0)::text AS nanos
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id WHERE m.instance_id = ${id.slice('ins_'.length)}`)
  return row
}

it('replaces an instance whose machine does not answer, with all of its settings', async () => {
  await app.operations.machines.unplug(machines[0] as number)
  const first = await rentedId({
    spec: { source: { image: 'ubuntu' }, label: 'old', env: [{ name: 'A', value: '1' }], policy: { stopAtCost: '5' } },
    replace: { within: '3m', attempts: 3 },
    idempotencyKey: 'once',
  })
  expect(await read(first)).toMatchObject({ ...onMachine(0), replaces: null, replacedBy: null })
  await app.graphql(key, `mutation { updateInstance(input: { id: "${first}", label: "new" }) { __typename } }`)
  await pass(4)
  await rentals.converge()
  const replaced = await read(first)
  expect(replaced).toMatchObject({ status: 'DESTROYED', statusReason: { code: 'REPLACED' } })
  const second = replaced.replacedBy.id
  expect(await read(second)).toMatchObject({
    ...onMachine(1),
    ...{ status: 'RUNNING', label: 'new', idempotencyKey: 'once', replaces: { id: first }, replacedBy: null },
    policy: { stopAtCost: '5', replace: { within: '3m', attemptsLeft: 1 } },
    launch: { image: 'ubuntu', env: [{ name: 'A', value: '1' }], sources: { image: 'REQUEST' } },
  })
  expect(await costOf(first)).toEqual({ nanos: '0' })
})

it('tells in events what happened', async () => {
  await app.operations.machines.unplug(machines[0] as number)
  const first = await rentedId({ replace: { within: '2m', attempts: 2 } })
  await pass(3)
  const { replacedBy } = await read(first)
  const told = (await eventsOf(first)).filter(({ reason }: { reason: { code: string } }) => reason.code === 'REPLACED')
  expect(told).toMatchObject([
    { kind: 'INSTANCE_DESTROYED', reason: { code: 'REPLACED' } },
    {
      kind: 'INSTANCE_REPLACED',
      message: 'Instance did not run in time: another one was rented in its place.',
      changes: [{ field: 'replacedBy', after: replacedBy.id }],
    },
  ])
  const [created] = await eventsOf(replacedBy.id)
  expect(created).toMatchObject({ kind: 'INSTANCE_CREATED', reason: { code: 'REPLACED' } })
  expect(created.changes).toContainEqual({ field: 'replaces', after: first })
})

it('replaces an instance at once when its machine is lost', async () => {
  await app.operations.machines.unplug(machines[0] as number)
  const first = await rentedId({ replace: { within: '1h', attempts: 2 } })
  await pass(8)
  expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
})

it('refunds all of an instance whose machine was lost during the start', async () => {
  const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '1h', attempts: 2 } })
  await pass(2)
  await app.operations.machines.unplug(machines[0] as number)
  await pass(8)
  expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
  expect(await costOf(first)).toEqual({ nanos: '0' })
})

it('keeps an instance that runs in time, also when it stops later', async () => {
  const first = await rentedId()
  await pass(15)
  expect(await read(first)).toMatchObject({ status: 'RUNNING', replacedBy: null })
  await app.graphql(key, `mutation { stopInstance(input: { id: "${first}" }) { __typename } }`)
  await pass(15)
  expect(await read(first)).toMatchObject({ status: 'STOPPED', replacedBy: null })
})

it('destroys the last instance with a reason when the attempts are used up', async () => {
  const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 2 } })
  await pass(3)
  const second = (await read(first)).replacedBy.id
  expect(await read(second)).toMatchObject({ ...onMachine(1), policy: { replace: { attemptsLeft: 0 } } })
  await pass(3)
  expect(await read(second)).toMatchObject({
    ...{ status: 'DESTROYED', replacedBy: null },
    statusReason: { code: 'NOT_REPLACED', message: expect.stringContaining('within 2m') },
  })
  expect([await costOf(first), await costOf(second), await instancesOf()]).toEqual([{ nanos: '0' }, { nanos: '0' }, 2])
})

it('rents nothing dearer than the first search allows', async () => {
  const first = await rentedId({
    ...{ spec: { source: { image: slow } }, terms: { onDemand: { maxPricePerHour: '0.25' } } },
    replace: { within: '1m', attempts: 3 },
  })
  await pass(2)
  expect(await read(first)).toMatchObject({
    ...{ status: 'DESTROYED', replacedBy: null },
    statusReason: { code: 'NOT_REPLACED', message: expect.stringContaining('no other rentable offer') },
  })
})

it.each(['simulated/not-found', 'simulated/no-start'])(
  'does not replace an instance with the image %s',
  async image => {
    const first = await rentedId({ spec: { source: { image } } })
    await pass(12)
    expect(await read(first)).toMatchObject({ status: 'EXITED', replacedBy: null })
  },
)

describe('a renter', () => {
  const doomed = () => rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 3 } })

  it('destroys the instance, and nothing is rented', async () => {
    const first = await doomed()
    await pass(1)
    await app.graphql(key, `mutation { destroyInstance(input: { id: "${first}" }) { __typename } }`)
    await pass(5)
    expect(await read(first)).toMatchObject({ statusReason: { code: 'USER_REQUEST' }, replacedBy: null })
  })

  it('stops the instance, and it is replaced only in time after its next start', async () => {
    const first = await doomed()
    await pass(1)
    await app.graphql(key, `mutation { stopInstance(input: { id: "${first}" }) { __typename } }`)
    await pass(5)
    expect(await read(first)).toMatchObject({ targetState: 'STOPPED', replacedBy: null })
    await app.graphql(key, `mutation { startInstance(input: { id: "${first}" }) { __typename } }`)
    await pass(1)
    expect(await read(first)).toMatchObject({ status: 'LOADING', replacedBy: null })
    await pass(2)
    expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
    expect(await costOf(first)).toEqual({ nanos: '0' })
  })

  it('changes the bid of an instance that never runs, and pays nothing for the time before', async () => {
    const terms = { interruptible: { bidPerHour: '0.35' } }
    const first = await rentedId({ spec: { source: { image: slow } }, terms, replace: { within: '2m', attempts: 2 } })
    await pass(1)
    const bid = `mutation { updateInstanceBid(input: { id: "${first}", bidPerHour: "0.3" }) { __typename } }`
    expect((await app.graphql(key, bid)).data.updateInstanceBid.__typename).toBe('UpdateInstanceBidSuccess')
    await pass(3)
    expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
    expect(await costOf(first)).toEqual({ nanos: '0' })
  })

  it('changes the policy of an instance that is due, and the replacement has it', async () => {
    const first = await doomed()
    app.clock.advance(5 * minute)
    const query = `mutation { updateInstancePolicy(input: { id: "${first}", stopAtCost: "3" }) { __typename } }`
    expect((await app.graphql(key, query)).data.updateInstancePolicy.__typename).toBe('UpdateInstancePolicySuccess')
    await app.runUntilIdle()
    const { replacedBy } = await read(first)
    expect(await read(replacedBy.id)).toMatchObject({ policy: { stopAtCost: '3' } })
  })

  it('has no more credit, and nothing is rented', async () => {
    const first = await doomed()
    await app.runUntilIdle()
    const [row] = await app.sql(`SELECT account_id AS id FROM instances WHERE id = ${first.slice('ins_'.length)}`)
    await app.sql(`INSERT INTO ledger_entries (account_id, kind, amount_nanos, posted_at)
      SELECT id, 'adjustment', -posted_nanos, '${app.clock.now().toISOString()}' FROM accounts
      WHERE id = ${(row as { id: number }).id}`)
    await pass(5)
    expect(await read(first)).toMatchObject({ replacedBy: null })
    expect(await instancesOf()).toBe(1)
  })

  it.each([
    ['is revoked', { revokedAt: 'now()' }],
    ['may no longer rent', { permissions: `'{"api": {"misc": {}}}'` }],
  ])('has rented with a key that %s, and nothing is rented', async (_what, change) => {
    const scoped = await app.newScopedKey(key, { api: { misc: {}, instance_read: {}, instance_write: {} } })
    const input = { spec: { source: { image: slow } }, replace: { within: '2m', attempts: 3 } }
    const first = (await rentBest(input, scoped)).instance.id
    const [name, value] = Object.entries(change)[0] as [string, string]
    const column = name === 'revokedAt' ? 'revoked_at' : 'permissions'
    await app.sql(`UPDATE api_keys SET ${column} = ${value} WHERE id = (
      SELECT api_key_id FROM instances WHERE id = ${first.slice('ins_'.length)})`)
    await pass(3)
    expect(await read(first)).toMatchObject({ statusReason: { code: 'NOT_REPLACED' }, replacedBy: null })
    expect(await instancesOf()).toBe(1)
  })

  it('repeats the request with its idempotency key, and gets the instance that replaces the first', async () => {
    await app.operations.machines.unplug(machines[0] as number)
    const input = { idempotencyKey: 'again', replace: { within: '3m', attempts: 2 } }
    const first = (await rentBest(input)).instance.id
    expect(await rentBest(input)).toMatchObject({ replayed: true, instance: { id: first } })
    await pass(4)
    await rentals.converge()
    const { replacedBy } = await read(first)
    expect(await rentBest(input)).toMatchObject({ replayed: true, instance: { id: replacedBy.id, status: 'RUNNING' } })
    expect(await instancesOf()).toBe(2)
  })
})

it('replaces an instance once when two gateways do it at once, and one of them is late', async () => {
  const gateways = [0, 1].map(() => openGateway({ url: app.database.url, now: app.clock.now }))
  try {
    const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 3 } })
    await app.runUntilIdle()
    app.clock.advance(3 * minute)
    const [one, other] = gateways.map(({ policies }) => policies)
    const leaseOf = async (policies: typeof one) =>
      (await policies?.leaseDue(100))?.find(({ instanceId }) => `ins_${instanceId}` === first)
    const lease = await leaseOf(one)
    expect(await leaseOf(other)).toBeUndefined()
    app.clock.advance(30_001)
    const second = await leaseOf(other)
    if (!lease || !second) throw new Error('Nothing was due.')
    await Promise.all([one?.perform(lease), other?.perform(second), other?.perform(second)])
    expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
    expect(await instancesOf()).toBe(2)
  } finally {
    for (const gateway of gateways) await gateway.close()
  }
})

it('destroys and rents, or does neither, at whichever statement a gateway fails', async () => {
  const gateway = openGateway({ url: app.database.url, now: app.clock.now })
  try {
    const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 3 } })
    await app.runUntilIdle()
    app.clock.advance(3 * minute)
    let failures = 0
    for (; (await read(first)).replacedBy === null; failures += 1) {
      expect([(await read(first)).status, await instancesOf()]).toEqual(['LOADING', 1])
      // The lease of the gateway that failed runs out.
      app.clock.advance(30_001)
      const leases = await gateway.policies.leaseDue(100)
      const lease = leases.find(({ instanceId }) => `ins_${instanceId}` === first)
      if (!lease) throw new Error('Nothing was due.')
      let statements = 0
      const failLater = async () => {
        statements += 1
        if (statements === failures + 1) throw new Error('The gateway fails here.')
      }
      await previewStatements(() => gateway.policies.perform(lease).catch(() => {}), failLater)
    }
    expect(failures).toBeGreaterThan(15)
    expect([(await read(first)).status, await instancesOf()]).toEqual(['DESTROYED', 2])
  } finally {
    await gateway.close()
  }
})

it('replaces the only instance that the account may have', async () => {
  const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '1m', attempts: 2 } })
  await app.sql(`UPDATE accounts SET max_instances = 1, max_loading = 1 WHERE id = (
    SELECT account_id FROM instances WHERE id = ${first.slice('ins_'.length)})`)
  await pass(2)
  expect(await read(first)).toMatchObject({ replacedBy: { id: expect.any(String) } })
})

it('rents nothing beyond a spend limit that the key got meanwhile', async () => {
  const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 3 } })
  const limit = `mutation { createSpendLimit(input: { subject: { account: true }, window: HOUR, action: BLOCK_NEW, amount: "0.25" }) { __typename } }`
  expect((await app.graphql(key, limit)).errors).toBeUndefined()
  await pass(3)
  expect(await read(first)).toMatchObject({
    ...{ status: 'DESTROYED', replacedBy: null },
    statusReason: { code: 'NOT_REPLACED', message: expect.stringContaining('limit') },
  })
})

it('replaces a bid that lost its GPUs before it ran, with the lower of its two bids', async () => {
  const terms = { interruptible: { bidPerHour: '0.35' } }
  const first = await rentedId({ spec: { source: { image: slow } }, terms, replace: { within: '2m', attempts: 2 } })
  await app.runUntilIdle()
  const other = await app.newKey(null, someCredit)
  const query = `{ offers(filter: { machineId: { eq: "${(await read(first)).machine.id}" } }) { nodes { id } } }`
  const [offer] = (await app.graphql(other, query)).data.offers.nodes
  await app.rest(other, 'PUT', `/asks/${offer.id.slice('off_'.length)}/`, { image: 'ubuntu' })
  await pass(1)
  expect(await read(first)).toMatchObject({ status: 'SCHEDULING' })
  const bid = `mutation { updateInstanceBid(input: { id: "${first}", bidPerHour: "0.25" }) { __typename } }`
  expect((await app.graphql(key, bid)).data.updateInstanceBid.__typename).toBe('UpdateInstanceBidSuccess')
  await pass(3)
  const { replacedBy } = await read(first)
  const [row] = await app.sql(
    `SELECT gpu_price_nanos::text AS bid FROM instances WHERE id = ${replacedBy.id.slice('ins_'.length)}`,
  )
  expect(row).toEqual({ bid: '250000000' })
  expect(await app.sql(`SELECT FROM failed_starts WHERE instance_id = ${first.slice('ins_'.length)}`)).toEqual([])
})

it.each<[string, object, string]>([
  ['no time', { replace: { within: 'soon', attempts: 3 } }, 'replace.within'],
  ['a time that is too short', { replace: { within: '59s', attempts: 3 } }, 'replace.within'],
  ['a time that is too long', { replace: { within: '2h', attempts: 3 } }, 'replace.within'],
  ['too few attempts', { replace: { within: '10m', attempts: 1 } }, 'replace.attempts'],
  ['too many attempts', { replace: { within: '10m', attempts: 6 } }, 'replace.attempts'],
  ['a stopped instance', { spec: { source: { image: 'ubuntu' }, targetState: 'STOPPED' } }, 'replace'],
  [
    'a volume',
    { spec: { source: { image: 'ubuntu' }, volumes: [{ source: { create: { sizeGb: 10 } }, mountPath: '/data' }] } },
    'replace',
  ],
])('is refused with %s', async (_what, input, path) => {
  expect(await rentBest(input)).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path }] })
  expect(await instancesOf()).toBe(0)
})

it('replaces all of a large fleet, and counts a start of it as failed only where none follows', async () => {
  for (let count = 0; count < 14; count += 1)
    await rentals.newOffer({ country, gpuNanos: BigInt(500 + count) * 1_000_000n })
  const fleet: string[] = []
  for (let count = 0; count < 8; count += 1)
    fleet.push(await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 2 } }))
  await app.runUntilIdle()
  app.clock.advance(2 * minute)
  await app.runUntilIdle()
  for (const id of fleet) expect(await read(id)).toMatchObject({ statusReason: { code: 'REPLACED' } })
  await pass(3)
  const failures = `SELECT start_failures FROM accounts WHERE id = (SELECT account_id FROM instances WHERE id = ${fleet[0]?.slice(4)})`
  expect(await app.sql(failures)).toEqual([{ start_failures: 6 }])
})

it('waits to replace an instance while its account may start none, and then does so', async () => {
  const first = await rentedId({ spec: { source: { image: slow } }, replace: { within: '2m', attempts: 2 } })
  await app.runUntilIdle()
  await app.sql(`UPDATE accounts SET start_failures = 6, start_failed_at = '${new Date(app.clock.now().getTime() + 2 * minute).toISOString()}'
    WHERE id = (SELECT account_id FROM instances WHERE id = ${first.slice('ins_'.length)})`)
  app.clock.advance(2.5 * minute)
  await app.runUntilIdle()
  expect(await read(first)).toMatchObject({ status: 'LOADING', replacedBy: null })
  await pass(2)
  expect(await read(first)).toMatchObject({ status: 'DESTROYED', replacedBy: { id: expect.any(String) } })
})
