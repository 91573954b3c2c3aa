// Reboots and recycles, over both faces.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { instanceApiKey } from '../../../src/services/accounts/api-keys/identity.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

type Verb = 'reboot' | 'recycle'

async function restart(by: string, verb: Verb, input: object) {
  const typeName = verb === 'reboot' ? 'RebootInstance' : 'RecycleInstance'
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: ${typeName}Input!) { ${verb}Instance(input: $input) {
      ... on ${typeName}Success { replayed instance { id status targetState } }
      ... on Error { code message } ... on InvalidStateError { current { id } } } }`,
    { input },
  )
  return errors ? { code: errors[0]?.extensions['code'], message: errors[0]?.message } : data[`${verb}Instance`]
}

const rowOf = async (id: number) => {
  const [row] = await app.sql(`
    SELECT i.status, i.reason_code, i.restart, i.target_state, i.removed_at,
      (SELECT json_agg(index ORDER BY index) FROM gpus g WHERE g.holder_id = i.id) AS holds,
      (SELECT json_agg(json_build_array(host_port, container_port) ORDER BY host_port)
        FROM port_bindings b WHERE b.instance_id = i.id) AS ports,
      (SELECT json_agg(volume_id) FROM volume_attachments a WHERE a.instance_id = i.id AND released_at IS NULL) AS volumes,
      (SELECT json_agg(json_build_array(o.id, o.rentable) ORDER BY o.id) FROM offers o
        WHERE o.machine_id = i.machine_id AND o.withdrawn_at IS NULL) AS offers,
      (SELECT m.free_disk_mb FROM machines m WHERE m.id = i.machine_id) AS free_disk
    FROM instances i WHERE id = ${id}`)
  return row as Record<string, unknown>
}
const containerOf = async (id: number) => {
  const [row] = await app.sql(`SELECT prepared_at, up_at FROM simulated_containers WHERE instance_id = ${id}`)
  return row as { prepared_at: Date; up_at: Date | null } | undefined
}
const eventsOf = async (id: number, after: number) => {
  const rows = await app.sql(`SELECT kind, reason, before->>'status' AS was, after->>'status' AS is FROM events
    WHERE instance_id = ${id} ORDER BY id OFFSET ${after}`)
  return (rows as { kind: string; reason: string; is: string | null }[]).map(({ kind, reason, is }) =>
    [kind.replace('INSTANCE_', ''), reason, is].filter(part => part !== null).join(' '),
  )
}
const countEvents = async (id: number) =>
  ((await app.sql(`SELECT FROM events WHERE instance_id = ${id}`)) as unknown[]).length
const rateOf = async (id: number) => {
  const [row] = await app.sql(`SELECT rate_nanos FROM meters WHERE instance_id = ${id} AND kind = 'gpu'`)
  return Number((row as { rate_nanos: string }).rate_nanos)
}

/** Rents on demand the GPUs that an instance holds by a bid. */
async function rentOver(id: number): Promise<number> {
  const [offer] = await app.sql(`SELECT o.id FROM offers o JOIN instances i USING (machine_id, first_gpu, num_gpus)
    WHERE i.id = ${id} AND o.withdrawn_at IS NULL`)
  const { body } = await app.rest(key, 'PUT', `/asks/${(offer as { id: number }).id}/`, { image: 'ubuntu' })
  return body.new_contract
}

/** Repeats a request at every pass until the instance runs, and returns the statuses in between. */
async function untilItRuns(id: number, ask: () => Promise<void>): Promise<Set<unknown>> {
  const seen = new Set()
  for (let passes = 0; passes < 100; passes += 1) {
    await app.runUntilIdle()
    const { status } = await rowOf(id)
    if (status === 'running') return seen
    seen.add(status)
    await ask()
    app.clock.advance(1_000)
  }
  throw new Error('The instance did not run again.')
}

describe('a reboot', () => {
  it('stops and starts the same container with its GPUs, ports and disk', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'ssh_direct', env: { '-p 8000:8000': '1' } })
    const [before, container, events, rate] = [
      await rowOf(id),
      await containerOf(id),
      await countEvents(id),
      await rateOf(id),
    ]
    expect(rate).toBeGreaterThan(0)
    expect(await app.rest(key, 'PUT', `/instances/reboot/${id}/`, {})).toMatchObject({
      ...{ status: 200, body: { success: true } },
    })
    await app.runUntilIdle()
    expect(await rowOf(id)).toEqual({ ...before, status: 'stopping', reason_code: 'REBOOTING', restart: 'reboot' })
    expect(await rentals.read(key, id)).toMatchObject({ actual_status: 'loading', intended_status: 'running' })
    // The GPUs are charged until the container is down.
    expect(await rateOf(id)).toBe(rate)
    await rentals.converge()
    expect(await rowOf(id)).toEqual(before)
    expect(await rateOf(id)).toBe(rate)
    const after = await containerOf(id)
    expect(after?.prepared_at).toEqual(container?.prepared_at)
    expect(Number(after?.up_at)).toBeGreaterThan(Number(container?.up_at))
    expect(await eventsOf(id, events)).toEqual([
      ...['REBOOTED USER_REQUEST', 'STATUS_CHANGED REBOOTING stopping'],
      ...['STATUS_CHANGED STARTING loading', 'STATUS_CHANGED STARTED running'],
    ])
  })

  it('happens once when it is requested repeatedly', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const events = await countEvents(id)
    for (const _ of [1, 2, 3]) {
      expect(await restart(key, 'reboot', { id: `ins_${id}` })).toMatchObject({ replayed: false, instance: {} })
    }
    await rentals.converge()
    const newEvents = await eventsOf(id, events)
    expect(newEvents.filter(line => line.startsWith('REBOOTED'))).toHaveLength(1)
    expect(newEvents.filter(line => line.endsWith('stopping'))).toHaveLength(1)
  })

  it('happens once when it is requested again while it is under way, and is refused once the instance starts', async () => {
    const id = await rentals.rentToStatus(key, 'running', { image: 'simulated/slow-start:20' })
    const events = await countEvents(id)
    await restart(key, 'reboot', { id: `ins_${id}` })
    const seen = await untilItRuns(id, async () => {
      const isStarting = (await rowOf(id))['status'] === 'loading'
      const { body } = await app.rest(key, 'PUT', `/instances/reboot/${id}/`, {})
      expect(body.success).toBe(!isStarting)
      const answer = await restart(key, 'reboot', { id: `ins_${id}` })
      expect(answer).toMatchObject(isStarting ? { code: 'INVALID_STATE' } : { replayed: false })
    })
    expect(seen).toEqual(new Set(['stopping', 'loading']))
    expect((await eventsOf(id, events)).filter(line => /REBOOTED|stopping/.test(line))).toHaveLength(2)
  })

  it('with an idempotency key happens once when it is requested again afterwards', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const input = { id: `ins_${id}`, idempotencyKey: `reboot-${id}` }
    expect(await restart(key, 'reboot', input)).toMatchObject({ replayed: false })
    await rentals.converge()
    const [events, container] = [await countEvents(id), await containerOf(id)]
    expect(await restart(key, 'reboot', input)).toMatchObject({ replayed: true, instance: { status: 'RUNNING' } })
    expect(await restart(key, 'recycle', input)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    const headers = { 'idempotency-key': input.idempotencyKey }
    expect(await app.rest(key, 'PUT', `/instances/reboot/${id}/`, {}, headers)).toMatchObject({ status: 200 })
    await rentals.converge()
    expect([await countEvents(id), await containerOf(id)]).toEqual([events, container])
  })

  it.each<['stop' | 'outbid', object]>([
    ['stop', {}],
    ['outbid', { price: 0.3 }],
  ])('ends at a stop or a lost bid in between, and does not happen at the next start: %s', async (how, body) => {
    const offerId = await rentals.newOffer()
    const { body: rented } = await app.rest(key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu', ...body })
    const id = rented.new_contract as number
    await rentals.converge()
    await restart(key, 'reboot', { id: `ins_${id}` })
    const over = how === 'stop' ? id : await rentOver(id)
    if (how === 'stop') await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await rentals.converge()
    const status = how === 'stop' ? 'stopped' : 'scheduling'
    expect(await rowOf(id)).toMatchObject({ status, restart: null })
    app.clock.advance(3_600_000)
    await app.runUntilIdle()
    const events = await countEvents(id)
    if (how === 'stop') await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    else await app.rest(key, 'DELETE', `/instances/${over}/`)
    await rentals.converge()
    expect(await rowOf(id)).toMatchObject({ status: 'running', restart: null })
    expect((await eventsOf(id, events)).filter(line => /REBOOTING|stopping/.test(line))).toEqual([])
  })

  it('starts the container again if it ends on its own while it is being stopped', async () => {
    const id = await rentals.rentToStatus(key, 'running', { image: 'simulated/slow-stop:20' })
    await restart(key, 'reboot', { id: `ins_${id}` })
    await app.runUntilIdle()
    await app.sql(`UPDATE simulated_containers SET exit_code = 1, ends_at = NULL WHERE instance_id = ${id}`)
    await rentals.converge()
    expect(await rowOf(id)).toMatchObject({ status: 'running', restart: null })
  })
})

describe('a recycle', () => {
  it('makes the container anew with the same GPUs, ports and volumes', async () => {
    const offerId = await rentals.newOffer()
    const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
    const machineId = (row as { machine_id: number }).machine_id
    const made = await app.graphql(
      key,
      `mutation { createVolume(input: { offerId: "${machineId}", sizeGb: 10 }) { ... on CreateVolumeSuccess { volume { id } } } }`,
    )
    const volume_id = Number(made.data.createVolume.volume.id.slice('vol_'.length))
    const { body } = await app.rest(key, 'PUT', `/asks/${offerId}/`, {
      ...{ image: 'ubuntu', runtype: 'ssh_direct', volume_info: { volume_id, mount_path: '/data' } },
    })
    const id = body.new_contract
    await rentals.converge()
    const [before, container, events] = [await rowOf(id), await containerOf(id), await countEvents(id)]
    expect(before).toMatchObject({ status: 'running', volumes: [volume_id] })
    expect(await restart(key, 'recycle', { id: `ins_${id}` })).toMatchObject({
      ...{ replayed: false, instance: { status: 'RUNNING', targetState: 'RUNNING' } },
    })
    await rentals.converge()
    expect(await rowOf(id)).toEqual(before)
    expect(Number((await containerOf(id))?.prepared_at)).toBeGreaterThan(Number(container?.prepared_at))
    expect(await eventsOf(id, events)).toEqual([
      ...['RECYCLED USER_REQUEST', 'STATUS_CHANGED RECYCLING stopping', 'STATUS_CHANGED RECYCLING loading'],
      ...['STATUS_CHANGED PULLING loading', 'STATUS_CHANGED STARTING loading', 'STATUS_CHANGED STARTED running'],
    ])
  })

  it('of a stopped instance leaves it stopped without a container until it is started', async () => {
    const id = await rentals.rentToStatus(key, 'stopped')
    expect((await app.rest(key, 'PUT', `/instances/recycle/${id}/`, {})).body).toEqual({ success: true })
    await rentals.converge()
    expect([await containerOf(id), await rowOf(id)]).toMatchObject([undefined, { status: 'stopped', restart: 'anew' }])
    // An instance without a container is not lost while it stays stopped.
    app.clock.advance(3_600_000)
    await rentals.converge()
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    await rentals.converge()
    expect(await rowOf(id)).toMatchObject({ status: 'running', restart: null })
    await app.sql(`DELETE FROM simulated_containers WHERE instance_id = ${id}`)
    app.clock.advance(61_000)
    await app.runUntilIdle()
    expect(await rowOf(id)).toMatchObject({ status: 'unknown', reason_code: 'CONTAINER_LOST' })
  })

  it('of an instance that pulls its image does not keep the instance from running', async () => {
    const id = await rentals.rent(key, { image: 'simulated/slow-pull:600' })
    await app.runUntilIdle()
    expect(await restart(key, 'recycle', { id: `ins_${id}` })).toMatchObject({ instance: { status: 'LOADING' } })
    await app.runUntilIdle()
    app.clock.advance(650_000)
    await rentals.converge()
    expect(await rowOf(id)).toMatchObject({ status: 'running', restart: null })
  })

  it('happens once when it is requested again while it is under way, and is refused once the instance starts', async () => {
    const id = await rentals.rentToStatus(key, 'running', { image: 'simulated/slow-pull:20' })
    const events = await countEvents(id)
    await restart(key, 'recycle', { id: `ins_${id}` })
    const seen = await untilItRuns(id, async () => {
      expect(await app.rest(key, 'PUT', `/instances/recycle/${id}/`, {})).toMatchObject({ body: { success: true } })
      expect(await restart(key, 'recycle', { id: `ins_${id}` })).toMatchObject({ replayed: false })
      expect(await restart(key, 'reboot', { id: `ins_${id}` })).toMatchObject({ replayed: false })
    })
    expect(seen).toEqual(new Set(['stopping', 'loading']))
    const newEvents = await eventsOf(id, events)
    expect(newEvents.filter(line => /RECYCLED|REBOOTED/.test(line))).toHaveLength(1)
    expect(newEvents.filter(line => line.includes('PULLING'))).toHaveLength(1)
  })

  it('continues the log after the lines of the old container', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const logOf = async () =>
      (await app.sql(`SELECT log FROM simulated_containers WHERE instance_id = ${id}`)) as { log: { n: number }[] }[]
    const last = Math.max(...((await logOf())[0]?.log ?? []).map(({ n }) => n))
    await restart(key, 'recycle', { id: `ins_${id}` })
    await rentals.converge()
    const first = Math.min(...((await logOf())[0]?.log ?? []).map(({ n }) => n))
    expect(first).toBeGreaterThan(last)
  })

  it('ends when the instance is destroyed', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await restart(key, 'recycle', { id: `ins_${id}` })
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    await rentals.converge()
    expect(await containerOf(id)).toBeUndefined()
    expect((await rowOf(id))['removed_at']).not.toBeNull()
  })
})

describe('a restart that the machine refuses', () => {
  it.each<[Verb, 'stop' | 'remove']>([
    ['reboot', 'stop'],
    ['recycle', 'stop'],
    ['recycle', 'remove'],
  ])('ends the instance and frees its GPUs: %s (%s)', async (verb, call) => {
    const id = await rentals.rentToStatus(key, 'running')
    const broken = openGateway({
      ...{ url: app.database.url, now: app.clock.now },
      wrapProvider: provider => ({ ...provider, [call]: () => Promise.reject(new Error('The machine refuses.')) }),
    })
    await restart(key, verb, { id: `ins_${id}` })
    const work = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute += 1) {
        await broken.idle()
        app.clock.advance(60_000)
      }
    }
    await work(29)
    expect(await rowOf(id)).toMatchObject({ reason_code: 'MACHINE_ERROR', holds: expect.anything() })
    await work(5)
    await broken.close()
    expect(await rowOf(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT', holds: null })
    expect(await rateOf(id)).toBe(0)
  })
})

describe('a restart', () => {
  it.each<[Verb, string, string]>([
    ['reboot', 'created', 'Only a running instance'],
    ['reboot', 'stopped', 'Only a running instance'],
    ['reboot', 'exited', 'never runs again'],
    ['recycle', 'created', 'no container'],
    ['recycle', 'exited', 'never runs again'],
    ['recycle', 'unknown', 'never runs again'],
  ])(
    'is refused as a %s of an instance that is %s, and changes nothing, over both faces',
    async (verb, status, message) => {
      const id = await rentals.rentToStatus(key, status)
      const [before, events] = [await rowOf(id), await countEvents(id)]
      const refused = await restart(key, verb, { id: `ins_${id}` })
      expect(refused).toMatchObject({ code: 'INVALID_STATE', current: { id: `ins_${id}` } })
      expect(refused.message).toContain(message)
      expect(await app.rest(key, 'PUT', `/instances/${verb}/${id}/`, {})).toMatchObject({
        ...{
          status: 200,
          body: { success: false, error: 'invalid_id', msg: expect.stringContaining('Invalid instance id.') },
        },
      })
      await app.runUntilIdle()
      expect([await rowOf(id), await countEvents(id)]).toEqual([before, events])
    },
  )

  it('is refused as a reboot if the instance is stopped at the same time', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`UPDATE instances SET target_state = 'stopped' WHERE id = ${id}`)
      const rebooting = restart(key, 'reboot', { id: `ins_${id}` })
      await waitUntilBlocksOthers(session)
      await session.query('COMMIT')
      const message = expect.stringContaining('about to stop')
      expect(await rebooting).toMatchObject({ code: 'INVALID_STATE', message })
    })
    expect(await rowOf(id)).toMatchObject({ status: 'running', restart: null })
  })

  it.each<[Verb]>([['reboot'], ['recycle']])('is refused as a %s of an unknown instance', async verb => {
    expect(await restart(key, verb, { id: 'ins_987654' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await app.rest(key, 'PUT', `/instances/${verb}/987654/`)).toMatchObject({
      ...{ status: 404, body: { success: false, error: 'no_such_instance', instances: null } },
    })
    expect(await app.rest(key, 'PUT', `/instances/${verb}/abc/`)).toMatchObject({
      ...{ status: 400, body: { success: false, error: 'invalid_args' } },
    })
  })

  it.each<[Verb]>([['reboot'], ['recycle']])("is refused as a %s with the instance's own key", async verb => {
    const id = await rentals.rentToStatus(key, 'running')
    const own = instanceApiKey(createSecrets('a secret of tests'), BigInt(id))
    expect(await restart(own, verb, { id: `ins_${id}` })).toMatchObject({ code: 'FORBIDDEN' })
    expect((await app.rest(own, 'PUT', `/instances/${verb}/${id}/`, {})).status).toBe(403)
  })
})
