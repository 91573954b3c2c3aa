// The events of a rental: one per change, in order, by any author.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway, type RentOptions } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let renter: Actor
let rival: Actor
let machines = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  const actor = await gateway.newActor()
  // A second key, whose id differs from that of the account.
  await gateway.operations.accounts.createApiKey('renter-0@example.com', { permissions: null })
  const [key] = await gateway.sql('SELECT max(id) AS id FROM api_keys')
  renter = { ...actor, apiKeyId: key?.['id'] as number }
  rival = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

async function aMachine(): Promise<void> {
  await listMachines(gateway.operations, [{}])
  machines += 1
}

/** Rents the only GPU of the last machine. */
async function rent(actor: Actor, options: RentOptions = {}) {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machines])
  const offerId = offer?.['id'] as string
  const { id } = await gateway.rent(actor, BigInt(offerId), options)
  return { id, offerId }
}

const atBid = (bidNanos: bigint): RentOptions => ({ terms: { interruptible: true, bidNanos } })

async function idle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await gateway.idle()
    clock.advance(31_000)
  }
  await gateway.idle()
}

const eventsOf = (id: bigint) =>
  gateway.sql('SELECT kind, reason, api_key_id, before, after FROM events WHERE instance_id = $1 ORDER BY id', [id])

type Facts = { reason?: string; before?: object; after?: object }

const event = (kind: string, api_key_id: number | null, { reason, before, after }: Facts = {}) => ({
  ...{ kind, api_key_id, reason: reason ?? null, before: before ?? null, after: after ?? null },
})
/** An event of a request by the renter. */
const requestedEvent = (kind: string, facts: Facts = {}) =>
  event(kind, renter.apiKeyId, { reason: 'USER_REQUEST', ...facts })
/** An event of a change that Berth made itself. */
const statusEvent = (from: string, to: string, reason?: string) =>
  event('INSTANCE_STATUS_CHANGED', null, {
    before: { status: from },
    after: reason ? { status: to, message: expect.any(String) } : { status: to },
    ...(reason && { reason }),
  })
const marketEvent = (kind: string, reason: string, granted: boolean, after: object = {}) =>
  event(kind, null, { reason, before: { granted: !granted }, after: { granted, ...after } })
const grantedEvent = () => marketEvent('INSTANCE_GRANTED', 'GPUS_FREE', true)
const runningEvent = () => statusEvent('loading', 'running', 'STARTED')
const createdEvent = () => requestedEvent('INSTANCE_CREATED', { after: expect.any(Object) })

describe('the events of an instance', () => {
  it('record its whole life, with authors and reasons', async () => {
    await aMachine()
    const { id } = await rent(renter)
    const update = (change: object) => gateway.services.instances.update(renter, { ids: [id] }, change)
    await idle()
    await update({ label: 'mine' })
    await update({ targetState: 'stopped' })
    await idle()
    await update({ targetState: 'running' })
    await idle()
    await gateway.services.instances.destroy(renter, { ids: [id] })
    await idle()
    expect(await eventsOf(id)).toEqual([
      createdEvent(),
      grantedEvent(),
      statusEvent('created', 'loading', 'PULLING'),
      statusEvent('loading', 'loading', 'STARTING'),
      runningEvent(),
      requestedEvent('INSTANCE_LABEL_CHANGED', { before: { label: null }, after: { label: 'mine' } }),
      requestedEvent('INSTANCE_TARGET_CHANGED', {
        before: { targetState: 'running' },
        after: { targetState: 'stopped' },
      }),
      statusEvent('running', 'stopping', 'USER_REQUEST'),
      statusEvent('stopping', 'stopped', 'USER_REQUEST'),
      requestedEvent('INSTANCE_TARGET_CHANGED', {
        before: { targetState: 'stopped' },
        after: { targetState: 'running' },
      }),
      grantedEvent(),
      statusEvent('stopped', 'loading', 'STARTING'),
      runningEvent(),
      requestedEvent('INSTANCE_DESTROYED'),
      event('INSTANCE_REMOVED', null, {
        reason: 'CONTAINER_GONE',
        // Without a proxy, SSH uses a port of the machine.
        ...{ before: { diskMb: 8_000, ports: 1 }, after: { diskMb: 0, ports: 0 } },
      }),
    ])
  })

  it('show that the instance was outbid and that it resumed', async () => {
    await aMachine()
    const { id: low } = await rent(renter, atBid(200_000_000n))
    await idle()
    const { id: high } = await rent(rival, atBid(300_000_000n))
    await idle()
    await gateway.services.instances.destroy(rival, { ids: [high] })
    // The high bidder comes first. Otherwise the low bidder may first wait until the other container is gone.
    const leases = await gateway.reconciliation.leaseDue(100)
    for (const id of [high, low])
      await gateway.reconcile(leases.find(({ instanceId }) => instanceId === id) as InstanceLease)
    await idle()
    expect(await eventsOf(low)).toEqual([
      createdEvent(),
      grantedEvent(),
      statusEvent('created', 'loading', 'PULLING'),
      statusEvent('loading', 'loading', 'STARTING'),
      runningEvent(),
      marketEvent('INSTANCE_OUTBID', 'OUTBID', false, { minimumBidNanos: '301000000' }),
      statusEvent('running', 'stopping', 'OUTBID'),
      statusEvent('stopping', 'scheduling', 'OUTBID'),
      grantedEvent(),
      statusEvent('scheduling', 'loading', 'STARTING'),
      runningEvent(),
    ])
    const accounts = await gateway.sql('SELECT DISTINCT account_id FROM events WHERE instance_id = $1', [low])
    expect(accounts).toEqual([{ account_id: renter.accountId }])
  })

  it('contain no secrets of the launch', async () => {
    await aMachine()
    const env = [{ name: 'TOKEN', value: 'a secret of the env' }]
    const launch = {
      mode: 'sshDirect' as const,
      environment: { env, ports: [], hostname: 'a-secret-host', volumes: [] },
      onStart: 'echo a secret of the start',
      registry: { host: 'registry.example.com', username: 'somebody', password: 'a secret of the registry' },
      label: 'mine',
      diskGb: 10,
    }
    const { id, offerId } = await rent(renter, { launch })
    const [first] = await eventsOf(id)
    expect(first?.['after']).toStrictEqual({
      ...{ image: 'ubuntu', mode: 'sshDirect', label: 'mine', diskMb: 10_000, targetState: 'running' },
      ...{ templateHash: null, offerId, machineId: machines, gpuPriceNanos: '400000000' },
    })
    expect(JSON.stringify(await gateway.sql('SELECT * FROM events'))).not.toMatch(/secret|TOKEN|registry/)
  })
})
