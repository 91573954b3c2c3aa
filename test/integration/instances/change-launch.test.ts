// Changes of an instance's launch over REST.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
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

const changeLaunch = async (id: number, body: object, by = key) =>
  await app.rest(by, 'PUT', `/instances/update_template/${id}/`, body)

async function aTemplate(settings: string, by = key) {
  const { data } = await app.graphql(
    by,
    `mutation { createTemplate(input: { name: "${Math.random()}", ${settings} }) {
      ... on CreateTemplateSuccess { template { id hashId } } ... on Error { message } } }`,
  )
  const { id, hashId } = data.createTemplate.template
  return { id: Number(id.slice('tpl_'.length)), hash: hashId as string }
}

/** The launch of the actual container. */
async function containerLaunchOf(id: number) {
  const [row] = await app.sql(`SELECT script, prepared_at FROM simulated_containers WHERE instance_id = ${id}`)
  const { script, prepared_at } = row as { script: Record<string, unknown>; prepared_at: Date }
  const { image, args, env, onStart, mode } = script
  return { image, args, env, onStart, mode, at: Number(prepared_at) }
}

/** The container spec that a provider gets, including secrets. */
async function specOf(id: number) {
  const gateway = openGateway({ url: app.database.url, now: app.clock.now })
  const spec = await gateway.reconciliation.loadSpec({ instanceId: BigInt(id) } as InstanceLease)
  await gateway.close()
  return spec
}

/** Runs another gateway, and calls `happen` within the first call of its provider. */
async function changingWithin(verb: 'ensure' | 'observe', happen: () => Promise<unknown>) {
  let happened = 0
  const gateway = openGateway({
    ...{ url: app.database.url, now: app.clock.now },
    wrapProvider: provider => ({
      ...provider,
      async [verb](...call: [never, never]) {
        happened += 1
        if (happened === 1) await happen()
        return await provider[verb](...call)
      },
    }),
  })
  await gateway.idle()
  await gateway.close()
  expect(happened).toBeGreaterThan(0)
}

const lastEvents = async (id: number, count: number) =>
  (await app.sql(
    `SELECT kind, before, after FROM events WHERE instance_id = ${id} ORDER BY id DESC LIMIT ${count}`,
  )) as {
    kind: string
  }[] as { kind: string; before: object; after: object }[]

describe('a launch change', () => {
  it.each(['', '/'])('takes effect only when the container is made anew (path ending in "%s")', async slash => {
    const id = await rentals.rentToStatus(key, 'running', {
      runtype: 'ssh_direct',
      env: { A: '1', '-p 8000:8000': '1' },
    })
    const before = await rentals.read(key, id)
    const old = await containerLaunchOf(id)
    // The body of the command-line tool.
    const body = {
      id,
      template_hash_id: null,
      template_id: null,
      image: 'alpine:3',
      env: { B: '2' },
      onstart: 'echo hi',
    }
    const { status, body: answer } = await app.rest(key, 'PUT', `/instances/update_template/${id}${slash}`, body)
    expect([status, answer]).toEqual([200, { success: true }])
    await rentals.converge()
    expect(await containerLaunchOf(id)).toEqual(old)
    const after = await rentals.read(key, id)
    expect(after).toMatchObject({ image_uuid: 'alpine:3', onstart: 'echo hi', actual_status: 'running' })
    expect(after.extra_env).toEqual(
      expect.arrayContaining([
        ['A', '1'],
        ['B', '2'],
      ]),
    )
    for (const field of ['ports', 'image_runtype', 'disk_space', 'dph_total', 'num_gpus', 'machine_id'])
      expect(after[field]).toEqual(before[field])
    await app.rest(key, 'PUT', `/instances/recycle/${id}/`, {})
    await rentals.converge()
    expect(await containerLaunchOf(id)).toMatchObject({ image: 'alpine:3', onStart: 'echo hi', mode: 'sshDirect' })
    expect((await rentals.read(key, id)).ports).toEqual(before.ports)
  })

  it('takes effect at once with recycle', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    expect((await changeLaunch(id, { image: 'alpine:3', recycle: true })).body).toEqual({ success: true })
    await rentals.converge()
    expect(await containerLaunchOf(id)).toMatchObject({ image: 'alpine:3' })
    expect(await rentals.read(key, id)).toMatchObject({ actual_status: 'running', image_uuid: 'alpine:3' })
  })

  it('takes effect at the first start of an instance without a container', async () => {
    const id = await rentals.rentToStatus(key, 'created')
    expect((await changeLaunch(id, { image: 'alpine:3', recycle: true })).body).toEqual({ success: true })
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    await rentals.converge()
    expect(await containerLaunchOf(id)).toMatchObject({ image: 'alpine:3' })
  })

  it.each([[true], [false]])(
    'takes effect while the first container is being made from the old launch (recycle: %s)',
    async recycle => {
      const id = await rentals.rent(key)
      await changingWithin('ensure', () => changeLaunch(id, { image: 'alpine:3', recycle }))
      await rentals.converge()
      expect(await containerLaunchOf(id)).toMatchObject({ image: 'alpine:3' })
      const [row] = await app.sql(`SELECT status, restart FROM instances WHERE id = ${id}`)
      expect(row).toEqual({ status: 'running', restart: null })
    },
  )

  it('takes effect while a recycle is making the container from the old launch', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await app.rest(key, 'PUT', `/instances/recycle/${id}/`, {})
    await app.runUntilIdle()
    app.clock.advance(30_000)
    await changingWithin('ensure', () => changeLaunch(id, { image: 'alpine:3' }))
    await rentals.converge()
    expect(await containerLaunchOf(id)).toMatchObject({ image: 'alpine:3' })
  })

  it('does not affect a container that has just come up', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const old = await containerLaunchOf(id)
    app.clock.advance(61_000)
    await changingWithin('observe', () => changeLaunch(id, { image: 'alpine:3' }))
    await rentals.converge()
    expect(await containerLaunchOf(id)).toEqual(old)
  })

  it('pulls the new image when the instance has not run yet', async () => {
    const id = await rentals.rent(key, { image: 'simulated/slow-pull:1200' })
    await app.runUntilIdle()
    expect((await rentals.read(key, id)).actual_status).toBe('loading')
    expect((await changeLaunch(id, { image: 'ubuntu' })).body).toEqual({ success: true })
    await rentals.converge()
    expect(await rentals.read(key, id)).toMatchObject({ actual_status: 'running', image_uuid: 'ubuntu' })
  })

  it('to another template keeps the mode, the ports and the disk, and takes the other settings', async () => {
    const settings = `image: "alpine:3", mode: { jupyter: { direct: true, lab: true } }, diskGb: 50, onStart: "echo t",
      env: [{ name: "T", value: "1" }, { name: "S", value: "quiet", secret: true }], ports: [{ containerPort: 9000, hostPort: 9000 }],
      registry: { host: "ghcr.io", username: "u", password: "very quiet" }`
    const { id: templateId, hash } = await aTemplate(settings)
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'ssh_direct', env: { A: '1' } })
    const before = await rentals.read(key, id)
    for (const [body, onStart] of [
      [{ template_id: templateId, onstart: 'echo own' }, 'echo own'],
      [{ template_hash_id: hash, template_id: 987_654 }, 'echo t'],
    ] as const) {
      expect((await changeLaunch(id, body)).body).toEqual({ success: true })
      const after = await rentals.read(key, id)
      expect(after).toMatchObject({
        ...{ template_id: templateId, template_hash_id: hash, image_uuid: 'alpine:3', onstart: onStart },
        ...{ image_runtype: 'ssh_direct', disk_space: before.disk_space, ports: before.ports },
      })
      expect(after.extra_env).toEqual([
        ['T', '1'],
        ['S', ''],
        ['-p 22:22', '1'],
      ])
      const { launch, registry } = await specOf(id)
      expect(launch.env).toContainEqual({ name: 'S', value: 'quiet', secret: true })
      expect(launch).toMatchObject({ mode: 'sshDirect', lab: false })
      expect(registry).toEqual({ host: 'ghcr.io', username: 'u', password: 'very quiet' })
    }
    const [row] = await app.sql(`SELECT launch::text AS text FROM instances WHERE id = ${id}`)
    expect((row as { text: string }).text).not.toContain('quiet')
    expect(JSON.stringify(await lastEvents(id, 5))).not.toContain('quiet')
  })

  it('keeps secrets that the request does not name', async () => {
    const { hash } = await aTemplate(`image: "alpine:3", env: [{ name: "S", value: "quiet", secret: true }]`)
    const id = await rentals.rent(key, { template_hash_id: hash, image_login: '-u u -p quiet ghcr.io' })
    expect((await changeLaunch(id, { image: 'alpine:4' })).status).toBe(200)
    const { launch, registry } = await specOf(id)
    expect(launch).toMatchObject({ image: 'alpine:4', env: [{ name: 'S', value: 'quiet', secret: true }] })
    expect(registry).toEqual({ host: 'ghcr.io', username: 'u', password: 'quiet' })
    expect((await changeLaunch(id, { image_login: '-u v -p other ghcr.io' })).status).toBe(200)
    expect((await specOf(id)).registry).toEqual({ host: 'ghcr.io', username: 'v', password: 'other' })
  })

  it('keeps secret variables of the account with another template, unless the template sets them', async () => {
    const by = await app.newKey(null, someCredit)
    for (const key of ['HF_TOKEN', 'MODE']) await app.rest(by, 'POST', '/secrets/', { key, value: `quiet ${key}` })
    const id = await rentals.rent(by, { env: { OWN: '1' } })
    await app.rest(by, 'DELETE', '/secrets/', { key: 'HF_TOKEN' })
    const { hash } = await aTemplate(`image: "alpine:3", env: [{ name: "MODE", value: "fast" }]`, by)
    for (const body of [
      { template_hash_id: hash },
      { template_hash_id: hash, env: { B: '2' } },
      { image: 'alpine:4' },
    ]) {
      expect((await changeLaunch(id, body, by)).status).toBe(200)
      const { env, sources } = (await specOf(id)).launch
      expect(env).toContainEqual({ name: 'HF_TOKEN', value: 'quiet HF_TOKEN', secret: true })
      expect(env).toContainEqual({ name: 'MODE', value: 'fast' })
      expect(env.map(({ name }) => name)).not.toContain('OWN')
      expect(sources).toMatchObject({ 'env.HF_TOKEN': 'account', 'env.MODE': 'template' })
    }
    const [row] = await app.sql(`SELECT launch::text AS text FROM instances WHERE id = ${id}`)
    expect((row as { text: string }).text).not.toContain('quiet')
  })

  it('does not overwrite a concurrent change', async () => {
    const id = await rentals.rent(key)
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`UPDATE instances SET launch = launch || '{"onStart": "echo other"}' WHERE id = ${id}`)
      const changing = changeLaunch(id, { image: 'alpine:3' })
      await waitUntilBlocksOthers(session)
      await session.query('COMMIT')
      expect((await changing).status).toBe(200)
    })
    expect(await rentals.read(key, id)).toMatchObject({ image_uuid: 'alpine:3', onstart: 'echo other' })
  })

  it('replaces the arguments in args mode', async () => {
    const id = await rentals.rent(key, { runtype: 'args', args: ['a'] })
    expect((await changeLaunch(id, { args: ['b', 'c'] })).status).toBe(200)
    expect((await rentals.read(key, id)).image_args).toEqual(['b', 'c'])
    expect((await changeLaunch(id, { args_str: 'd "e f"' })).status).toBe(200)
    expect((await rentals.read(key, id)).image_args).toEqual(['d', 'e f'])
  })

  it('is recorded as an event', async () => {
    const id = await rentals.rent(key)
    await changeLaunch(id, { image: 'alpine:3' })
    const [event] = await lastEvents(id, 1)
    expect(event).toMatchObject({
      ...{ kind: 'INSTANCE_LAUNCH_CHANGED', before: { image: 'ubuntu' }, after: { image: 'alpine:3' } },
    })
  })
})

describe('a launch change', () => {
  it.each<[string, object, string]>([
    ['has an invalid image', { image: 'two words' }, 'image: '],
    ['has an onstart that is too long', { onstart: 'x'.repeat(4_049) }, 'onstart: '],
    ['has arguments outside args mode', { args: ['a'] }, 'args_str: '],
    ['has another disk', { disk: 20 }, 'disk: must stay 8'],
    ['has other ports', { env: { '-p 9000:9000': '1' } }, 'env.9000:9000: '],
    ['has volumes', { env: { '-v V.1:/data': '1' } }, 'volume_info: '],
    ['has invalid credentials', { image_login: '-u' }, 'image_login: '],
    ['has several faults at once', { image: 'two words', disk: 20 }, 'disk: must stay 8'],
  ])('is refused if it %s', async (_what, body, msg) => {
    const id = await rentals.rent(key)
    const before = await rentals.read(key, id)
    const answer = await changeLaunch(id, { ...body, recycle: true })
    expect([answer.status, answer.body]).toMatchObject([400, { success: false, error: 'invalid_args' }])
    expect(answer.body.msg).toContain(msg)
    expect(await rentals.read(key, id)).toEqual(before)
  })

  it('is accepted with the current disk and ports', async () => {
    const id = await rentals.rent(key, { disk: 20, env: { '-p 9000:9000': '1' } })
    expect((await changeLaunch(id, { disk: 20, env: { '-p 80:9000': '1' } })).status).toBe(200)
  })

  it('is refused if its template does not exist or is private to another account', async () => {
    const id = await rentals.rent(key)
    const { id: templateId, hash } = await aTemplate('image: "a"', await app.newKey())
    for (const body of [{ template_id: templateId }, { template_hash_id: hash }, { template_id: 987_654 }]) {
      expect(await changeLaunch(id, body)).toMatchObject({ status: 404, body: { error: 'not_found' } })
    }
    expect((await changeLaunch(id, { template_id: 'x' })).status).toBe(400)
  })

  it('is refused if the instance has a final status', async () => {
    const id = await rentals.rentToStatus(key, 'exited')
    expect(await changeLaunch(id, { image: 'alpine' })).toMatchObject({ status: 400, body: { error: 'invalid_state' } })
  })

  it('is refused with recycle if the key may not recycle', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const scoped = await app.newScopedKey(key, { api: { instance_write: { 'instances.changeLaunch': {} } } })
    expect((await changeLaunch(id, { image: 'alpine', recycle: true }, scoped)).status).toBe(403)
    expect((await rentals.read(key, id)).image_uuid).toBe('ubuntu')
    expect((await changeLaunch(id, { image: 'alpine' }, scoped)).status).toBe(200)
  })
})
