// Rentals with a template, secrets, SSH keys, existing volumes and new volumes.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InstanceLease } from '../../../../src/services/reconciliation/leases.ts'
import { aPublicKey } from '../../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { dumpDatabase } from '../../../support/database/dump.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { openGateway } from '../../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'
import { templatesOf } from '../../../support/templates/templates.ts'
import { volumesOf } from '../../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let templates: ReturnType<typeof templatesOf>
let volumes: ReturnType<typeof volumesOf>
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  templates = templatesOf(app)
  volumes = volumesOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

async function rent(offerId: number, spec: object, input: object = {}, by = key) {
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { __typename
      ... on Error { code } ... on OfferUnavailableError { yourInstance { id } }
      ... on RentInstanceSuccess { instanceApiKey warnings instance { id templateHashId template { id } sshKeys { name }
        volumes { mountPath volume { id name sizeGb } } launch { image env { name value source } sources { image onStart } } } } } }`,
    { input: { offerId: String(offerId), spec, ...input } },
  )
  expect(errors).toBeUndefined()
  return data.rentInstance
}

async function machineOf(offerId: number) {
  const [row] = await app.sql(
    `SELECT id, disk_mb, free_disk_mb, free_ports FROM machines WHERE id = (SELECT machine_id FROM offers WHERE id = ${offerId})`,
  )
  return row as { id: number; disk_mb: number; free_disk_mb: number; free_ports: number }
}

/** Everything that a rental writes. */
async function written(): Promise<unknown> {
  return await app.sql(`SELECT (SELECT count(*) FROM instances) AS instances, (SELECT count(*) FROM volumes) AS volumes,
    (SELECT count(*) FROM volume_attachments) AS attachments, (SELECT count(*) FROM instance_ssh_keys) AS keys,
    (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM idempotency_keys) AS repeatable,
    (SELECT count(*) FROM port_bindings) AS ports, (SELECT sum(free_disk_mb) FROM machines) AS disk`)
}

const own = (volumeId: number | string, mountPath: string) => ({ mountPath, source: { volumeId: String(volumeId) } })
const made = (name: string, sizeGb: number, mountPath: string) => ({ mountPath, source: { create: { name, sizeGb } } })

describe('a rental with everything', () => {
  const password = 'correct horse battery'
  const [token, other] = ['staple-of-the-template', 'staple-of-the-request']

  it('has the settings of the template and the request, and shows secrets only to its container', async () => {
    const renter = await app.newKey(null, someCredit)
    const { sshKey } = (
      await app.graphql(
        renter,
        `mutation { createSshKey(input: { publicKey: "${aPublicKey('whole')} laptop" }) { ... on CreateSshKeySuccess { sshKey { id } } } }`,
      )
    ).data.createSshKey
    expect(sshKey.id).toMatch(/^ssh_/)
    const { id: templateId, hashId } = await templates.mustCreate(renter, {
      image: 'torch',
      onStart: 'echo hi',
      env: [
        { name: 'KEPT', value: token, secret: true },
        { name: 'REPLACED', value: token, secret: true },
        { name: 'PLAIN', value: 'seen' },
      ],
      registry: { host: 'ghcr.io', username: 'me', password },
    })
    const offer = await rentals.newOffer()
    const machine = await machineOf(offer)
    const { volume } = await volumes.create(renter, { offerId: machine.id, sizeGb: 20 })
    const spec = {
      source: { template: { by: { hashId } } },
      diskGb: 10,
      env: [
        { name: 'REPLACED', value: other, secret: true },
        { name: 'ADDED', value: 'too' },
      ],
      volumes: [own(volume.id, '/data'), made('scratch', 30, '/scratch')],
    }
    const answer = await rent(offer, spec, {}, renter)
    expect(answer).toMatchObject({
      __typename: 'RentInstanceSuccess',
      warnings: [expect.stringContaining('no SSH proxy')],
      instance: {
        templateHashId: hashId,
        template: { id: templateId },
        sshKeys: [{ name: 'laptop' }],
        volumes: [
          { mountPath: '/data', volume: { id: volume.id, sizeGb: 20 } },
          { mountPath: '/scratch', volume: { name: 'scratch', sizeGb: 30 } },
        ],
        launch: { image: 'torch', sources: { image: 'TEMPLATE', onStart: 'TEMPLATE' } },
      },
    })
    const { env } = answer.instance.launch
    expect(env.toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'ADDED', value: 'too', source: 'REQUEST' },
      { name: 'KEPT', value: null, source: 'TEMPLATE' },
      { name: 'PLAIN', value: 'seen', source: 'TEMPLATE' },
      { name: 'REPLACED', value: null, source: 'REQUEST' },
    ])
    expect((await machineOf(offer)).free_disk_mb).toBe(machine.free_disk_mb - 60_000)

    const id = Number(answer.instance.id.slice('ins_'.length))
    await rentals.converge()
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    const container = await gateway.reconciliation.loadSpec({ instanceId: BigInt(id) } as InstanceLease)
    await gateway.close()
    expect(container).toMatchObject({
      registry: { host: 'ghcr.io', username: 'me', password },
      sshKeys: [aPublicKey('whole')],
      volumes: [{ mountPath: '/data' }, { mountPath: '/scratch' }],
      apiKey: answer.instanceApiKey,
    })
    const given = (name: string) => container.launch.env.find(variable => variable.name === name)?.value
    expect(['KEPT', 'REPLACED', 'PLAIN', 'ADDED'].map(given)).toEqual([token, other, 'seen', 'too'])

    const everywhere = [
      await dumpDatabase(app.database.url),
      JSON.stringify(app.logLines),
      JSON.stringify(answer),
      JSON.stringify(await rentals.read(renter, id)),
    ]
    for (const place of everywhere) for (const secret of [password, token, other]) expect(place).not.toContain(secret)
    expect(everywhere[0]).not.toContain(answer.instanceApiKey)
  })

  it('leaves only its volumes when it ends', async () => {
    const offer = await rentals.newOffer({ diskMb: 100_000 })
    const { free_disk_mb: before, free_ports } = await machineOf(offer)
    const spec = {
      source: { image: 'u' },
      diskGb: 10,
      ports: [{ containerPort: 80 }],
      volumes: [made('kept', 30, '/kept')],
    }
    const { instance } = await rent(offer, spec)
    await rentals.converge()
    await app.rest(key, 'DELETE', `/instances/${instance.id.slice('ins_'.length)}/`)
    await rentals.converge()
    expect(await machineOf(offer)).toMatchObject({ free_disk_mb: before - 30_000, free_ports })
    expect(await volumes.remove(key, instance.volumes[0].volume.id.slice('vol_'.length))).toMatchObject({
      __typename: 'DeleteVolumeSuccess',
    })
    expect((await machineOf(offer)).free_disk_mb).toBe(before)
  })
})

describe('a failed rental', () => {
  it.each<[string, object, object]>([
    ['it would have to wait', {}, { failIfUnavailable: true, terms: { interruptible: { bidPerHour: '0.5' } } }],
    ['it costs too much', {}, { terms: { onDemand: { maxPricePerHour: '0.01' } } }],
    ['a volume does not fit', { volumes: [made('large', 5_000, '/large')] }, {}],
    ['a volume does not exist', { volumes: [own(987_654, '/data'), made('new', 10, '/new')] }, {}],
  ])('leaves no trace when %s', async (_why, spec, input) => {
    const offer = await rentals.newOffer()
    await rent(offer, { source: { image: 'u' } }, { terms: { interruptible: { bidPerHour: '0.6' } } })
    const [row] = await app.sql('SELECT id FROM offers WHERE withdrawn_at IS NULL ORDER BY id DESC LIMIT 1')
    const before = await written()
    const request = {
      source: { image: 'u' },
      ports: [{ containerPort: 80 }],
      volumes: [made('new', 10, '/new')],
      ...spec,
    }
    const answer = await rent(Number((row as { id: string }).id), request, { idempotencyKey: 'fails', ...input })
    expect(answer.code).toMatch(/^(OFFER_UNAVAILABLE|PRICE_CHANGED|INVALID_INPUT|NOT_FOUND)$/)
    expect(await written()).toEqual(before)
  })
})

describe('a volume', () => {
  it('is attached to only one of many concurrent rentals', async () => {
    const offer = await rentals.newOffer({ numGpus: 8 })
    const { id } = await machineOf(offer)
    const volumeId = await volumes.make(key, id)
    const singles = await app.sql(`SELECT id FROM offers WHERE machine_id = ${id} AND num_gpus = 1 ORDER BY id`)
    const answers = await Promise.all(
      singles.map(row => {
        return rent(Number((row as { id: string }).id), { source: { image: 'u' }, volumes: [own(volumeId, '/data')] })
      }),
    )
    expect(answers.map(({ code = 'OK' }) => code).toSorted()).toEqual([
      'OK',
      ...Array.from({ length: 7 }, () => 'VOLUME_UNAVAILABLE'),
    ])
  })

  it("does not hide the renter's own rental of the offer from a repeated request", async () => {
    const offer = await rentals.newOffer()
    const volumeId = await volumes.make(key, (await machineOf(offer)).id)
    const spec = { source: { image: 'u' }, volumes: [own(volumeId, '/data')] }
    const { instance } = await rent(offer, spec)
    expect(await rent(offer, spec)).toMatchObject({ code: 'OFFER_UNAVAILABLE', yourInstance: { id: instance.id } })
  })

  it('is created over REST only on the machine of the offer', async () => {
    const offer = await rentals.newOffer()
    const { id } = await machineOf(offer)
    const info = { mount_path: '/work', create_new: true, volume_id: id, name: 'vol1', size: 20 }
    const elsewhere = await app.rest(key, 'PUT', `/asks/${offer}/`, {
      image: 'u',
      volume_info: { ...info, volume_id: id - 1 },
    })
    expect(elsewhere).toMatchObject({ status: 400, body: { error: 'invalid_args' } })
    const { body } = await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'u', volume_info: info })
    const rows = await app.sql(`SELECT v.name, v.size_mb, a.mount_path FROM volume_attachments a
      JOIN volumes v ON v.id = a.volume_id WHERE a.instance_id = ${body.new_contract}`)
    expect(rows).toEqual([{ name: 'vol1', size_mb: 20_000, mount_path: '/work' }])
  })
})

describe('new volumes of a rental', () => {
  const spec = (...sizes: number[]) => ({
    source: { image: 'u' },
    diskGb: 9.001,
    volumes: sizes.map((size, index) => made(`v${index}`, size, `/v${index}`)),
  })

  it('count toward the maximum price, and are priced as they are charged', async () => {
    const offer = await rentals.newOffer()
    const input = { offerId: String(offer), spec: spec(1.001, 2.001, 3.001) }
    const ask = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { pricePerHour volumesPricePerHour blockers { code } } }`
    const { rentQuote: quote } = (await app.graphql(key, ask, { input })).data
    const cents = BigInt(quote.pricePerHour.replace('.', '').padEnd(10, '0'))
    const below = `0.${String(cents - 1n).padStart(9, '0')}`
    expect(await rent(offer, spec(1.001, 2.001, 3.001), { terms: { onDemand: { maxPricePerHour: below } } })).toEqual({
      __typename: 'PriceChangedError',
      code: 'PRICE_CHANGED',
    })
    const rented = await rent(offer, spec(1.001, 2.001, 3.001), {
      terms: { onDemand: { maxPricePerHour: quote.pricePerHour } },
    })
    const id = rented.instance.id.slice('ins_'.length)
    const [row] =
      await app.sql(`SELECT i.gpu_price_nanos + i.disk_nanos + sum(v.disk_nanos) AS total, sum(v.disk_nanos) AS volumes
      FROM instances i JOIN volume_attachments a ON a.instance_id = i.id JOIN volumes v ON v.id = a.volume_id
      WHERE i.id = ${id} GROUP BY i.id`)
    const nanos = (usd: string) => String(BigInt(Math.round(Number(usd) * 1e9)))
    expect(row).toEqual({ total: nanos(quote.pricePerHour), volumes: nanos(quote.volumesPricePerHour) })
  })

  it('need the permission to create volumes, and must meet its constraints', async () => {
    const grants = (create: object) => ({
      api: { instance_write: { 'instances.rent': {}, ...create }, instance_read: {} },
    })
    const none = await app.newScopedKey(key, grants({}))
    const small = await app.newScopedKey(key, grants({ 'volumes.create': { constraints: { sizeGb: { lte: 10 } } } }))
    const ask = async (by: string, size: number) => {
      const offerId = String(await rentals.newOffer())
      const { data, errors } = await app.graphql(
        by,
        'mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { __typename } }',
        { input: { offerId, spec: spec(size) } },
      )
      return errors?.[0]?.extensions['code'] ?? data.rentInstance.__typename
    }
    const before = await written()
    expect([await ask(none, 10), await ask(small, 11)]).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    const { disk: _, ...counts } = (before as Record<string, unknown>[])[0] as Record<string, unknown>
    expect(((await written()) as unknown[])[0]).toMatchObject(counts)
    expect(await ask(small, 10)).toBe('RentInstanceSuccess')
  })
})

describe('a virtual machine', () => {
  it('is refused when the last SSH key is deleted while it waits for its machine', async () => {
    const renter = await app.newKey(null, someCredit)
    const register = `mutation { createSshKey(input: { publicKey: "${aPublicKey('vm')}" }) { ... on CreateSshKeySuccess { sshKey { id } } } }`
    const { id: keyId } = (await app.graphql(renter, register)).data.createSshKey.sshKey
    const offer = await rentals.newOffer({ vmsEnabled: true })
    const { id } = await machineOf(offer)
    const renting = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`SELECT FROM machines WHERE id = ${id} FOR UPDATE`)
      const answer = rent(offer, { source: { image: 'u' }, kind: 'VM' }, {}, renter)
      await waitForLockWaiters(session)
      await app.graphql(renter, `mutation { deleteSshKey(input: { id: "${keyId}" }) { __typename } }`)
      await session.query('COMMIT')
      return answer
    })
    expect(renting).toMatchObject({ code: 'SSH_KEY_REQUIRED' })
    expect(await app.sql(`SELECT FROM instances WHERE machine_id = ${id}`)).toEqual([])
  })
})

describe('a template over REST', () => {
  it('is the base of a rental, and the request takes precedence', async () => {
    const { hashId } = await templates.mustCreate(key, {
      image: 'torch',
      diskGb: 20,
      mode: { jupyter: { direct: true, lab: true } },
      env: [{ name: 'A', value: 'template' }],
    })
    const id = await rentals.rent(key, { image: '', template_hash_id: hashId, env: { A: 'request' }, runtype: 'ssh' })
    const row = await rentals.read(key, id)
    expect(row).toMatchObject({
      image_uuid: 'torch',
      disk_space: 20,
      image_runtype: 'ssh_proxy',
      template_hash_id: hashId,
    })
    expect(row.extra_env).toEqual([['A', 'request']])
  })
})
