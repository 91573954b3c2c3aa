// Requests of REST clients beyond the specification, and the answers that they need.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
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

const made = async (body: object) => await rentals.read(key, await rentals.rent(key, body))
/** The columns that two rows of the same request share. */
const readBack = ({
  label,
  image_uuid,
  image_args,
  image_runtype,
  extra_env,
  onstart,
  ...row
}: Record<string, unknown>) => {
  const { disk_space, intended_status, is_bid, dph_total } = row
  return {
    label,
    image_uuid,
    image_args,
    image_runtype,
    extra_env,
    onstart,
    disk_space,
    intended_status,
    is_bid,
    dph_total,
  }
}

const optional = [
  'label',
  'disk',
  'disk_space',
  'runtype',
  'target_state',
  'price',
  'env',
  'onstart',
  'args_str',
  'args',
]
const more = ['use_jupyter_lab', 'jupyter_dir', 'python_utf8', 'lang_utf8', 'image_login', 'cancel_unavail', 'vm']
const names = [...optional, ...more, 'volume_info', 'template_hash_id']

describe('a creation', () => {
  it.each(names)('treats %s as absent when it is null or ""', async name => {
    const plain = readBack(await made({}))
    for (const empty of [null, '']) expect(readBack(await made({ [name]: empty }))).toEqual(plain)
  })

  it.each(['use_jupyter_lab', 'python_utf8', 'lang_utf8', 'cancel_unavail', 'vm'])(
    'treats %s as absent when it is false',
    async name => expect(readBack(await made({ [name]: false }))).toEqual(readBack(await made({}))),
  )

  it('ignores unknown keys, and volume_info that names no volume', async () => {
    const unknown = { client_id: 'me', extra: null, force: false, user: null, ports: [], id: 5, entrypoint: '/bin/sh' }
    expect(readBack(await made({ ...unknown, volume_info: {} }))).toEqual(readBack(await made({})))
    expect(readBack(await made({ volume_info: { volume_id: null, mount_path: null } }))).toEqual(
      readBack(await made({})),
    )
  })

  it('accepts the full body of a client', async () => {
    const body = {
      ...{ client_id: 'me', image: 'ubuntu:22.04', env: { A: '1', '-p 8000:8000': '1', '-p 53:53/udp': '1' } },
      ...{ price: null, disk: 20.0, label: 'my', extra: null, onstart: 'echo hi', image_login: null },
      ...{ python_utf8: false, lang_utf8: false, use_jupyter_lab: false, jupyter_dir: null, force: false },
      ...{ cancel_unavail: false, template_hash_id: null, user: null, runtype: 'ssh_direc ssh_proxy' },
    }
    expect(await made(body)).toMatchObject({
      image_uuid: 'ubuntu:22.04',
      image_runtype: 'ssh_direct',
      disk_space: 20,
      label: 'my',
      onstart: 'echo hi',
      extra_env: expect.arrayContaining([
        ['A', '1'],
        ['-p 8000:8000', '1'],
        ['-p 53:53/udp', '1'],
      ]),
    })
  })

  it.each([
    ['ssh_direc ssh_proxy', 'ssh_direct'],
    ['jupyter_direc ssh_direc ssh_proxy', 'jupyter_direct'],
    ['jupyter_proxy ssh_proxy', 'jupyter_proxy'],
    ['', 'ssh_proxy'],
  ])('maps the runtype "%s" to %s', async (runtype, shown) => {
    expect((await made({ runtype })).image_runtype).toBe(shown)
  })

  it.each([
    ['-e A=1 -p 80:8080 -e B="two words"', { A: '1', '-p 80:8080': '1', B: 'two words' }],
    ['--env A=1 --publish 53:53/udp', { A: '1', '-p 53:53/udp': '1' }],
    ['-h box', { '-h': 'box' }],
  ])('accepts env as the string %j', async (text, object) => {
    const [asText, asObject] = [readBack(await made({ env: text })), readBack(await made({ env: object }))]
    expect(new Set(asText['extra_env'] as string[][])).toEqual(new Set(asObject['extra_env'] as string[][]))
  })

  it('accepts variables with names of object properties', async () => {
    const env = JSON.parse('{"__proto__": "a", "constructor": "b"}')
    expect((await made({ env })).extra_env).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  it('accepts numbers and booleans as values of variables', async () => {
    expect((await made({ env: { A: 1, B: true, C: null } })).extra_env).toEqual([
      ['A', '1'],
      ['B', 'true'],
    ])
  })

  it('accepts disk_space for disk, and prefers disk', async () => {
    expect((await made({ disk_space: 20 })).disk_space).toBe(20)
    expect((await made({ disk: 30, disk_space: 20 })).disk_space).toBe(30)
  })
})

describe('a path', () => {
  it.each(['', '/'])('works with the ending "%s" without a redirect', async slash => {
    const offer = await rentals.newOffer()
    const { status, body } = await app.rest(key, 'PUT', `/asks/${offer}${slash}`, { image: 'ubuntu' })
    expect(status).toBe(200)
    const path = `/instances/${body.new_contract}${slash}`
    expect((await app.rest(key, 'GET', `${path}?owner=me`)).status).toBe(200)
    expect((await app.rest(key, 'GET', `/instances${slash}?owner=me`)).status).toBe(200)
    expect((await app.rest(key, 'PUT', path, { label: 'x' })).status).toBe(200)
    expect((await app.rest(key, 'PUT', `/instances${slash}`, { ids: [body.new_contract], label: 'y' })).status).toBe(
      200,
    )
    expect((await app.rest(key, 'DELETE', path)).status).toBe(200)
  })
})

describe('an answer', () => {
  const noInstance = (msg: string) => ({ success: false, error: 'no_such_instance', msg, instances: null })

  it('for an unknown or destroyed instance is 404 with instances: null', async () => {
    const destroyed = await rentals.rent(key)
    await app.rest(key, 'DELETE', `/instances/${destroyed}/`)
    for (const [id, msg] of [
      [987_654, 'Instance 987654 not found.'],
      [destroyed, `Instance ${destroyed} is destroyed. Rent another one.`],
      ['999999999999999999', 'Instance 999999999999999999 not found.'],
    ] as const)
      for (const [method, body] of [
        ['GET', undefined],
        ['PUT', { label: 'x' }],
        ['DELETE', undefined],
      ] as const) {
        const answer = await app.rest(key, method, `/instances/${id}/`, body)
        expect([answer.status, answer.body]).toEqual([404, noInstance(msg)])
      }
  })

  it.each(['abc', '1.5', '-1', '0x1', '9'.repeat(19), '%00'])('for the invalid id %s is 400', async id => {
    expect(await app.rest(key, 'GET', `/instances/${id}/`)).toMatchObject({
      status: 400,
      body: { error: 'invalid_args' },
    })
  })

  it('to a successful PUT or DELETE is exactly {"success": true}', async () => {
    const id = await rentals.rent(key)
    const changes = [{ state: 'stopped' }, { state: 'stopped' }, { label: 'x' }, { label: 'x' }, { state: 'running' }]
    for (const body of changes)
      expect((await app.rest(key, 'PUT', `/instances/${id}/`, body)).body).toEqual({ success: true })
    expect((await app.rest(key, 'PUT', '/instances/', { ids: [id], state: 'stopped' })).body).toEqual({ success: true })
    expect((await app.rest(key, 'DELETE', `/instances/${id}/`)).body).toEqual({ success: true })
  })

  it('is JSON without a charset', async () => {
    for (const path of ['/instances/', '/instances/987654/', '/nowhere/'])
      expect((await app.rest(key, 'GET', path)).headers.get('content-type')).toBe('application/json')
  })

  it('to a list is newest first, and empty before the first rental', async () => {
    const other = await app.newKey(null, someCredit)
    expect((await app.rest(other, 'GET', '/instances/')).body).toEqual({ instances_found: 0, instances: [] })
    const ids = [await rentals.rent(other), await rentals.rent(other)]
    const { body } = await app.rest(other, 'GET', '/instances/')
    expect(body.instances.map((row: { id: number }) => row.id)).toEqual(ids.toReversed())
  })
})

it('shows the current cost in a row while the instance loads, runs and reboots', async () => {
  const id = await rentals.rent(key, { image: 'simulated/slow-stop:60' })
  const totals = async () => {
    const { instance, search, storage_total_cost: disk } = await rentals.read(key, id)
    return [instance.totalHour, instance.totalHour === disk, instance.totalHour === search.totalHour]
  }
  expect(await totals()).toMatchObject([expect.any(Number), true, false])
  await rentals.converge()
  expect(await totals()).toMatchObject([expect.any(Number), false, true])
  await app.rest(key, 'PUT', `/instances/reboot/${id}/`, {})
  await app.runUntilIdle()
  const { data } = await app.graphql(key, `{ instance(id: "ins_${id}") { costPerHour } }`)
  expect((await totals())[0]).toBe(Number(data.instance.costPerHour))
})

describe('an update', () => {
  it('with null or "" keeps the old value', async () => {
    const id = await rentals.rent(key, { label: 'mine' })
    for (const body of [
      { state: 'stopped', label: null },
      { state: 'stopped', label: '' },
    ]) {
      expect((await app.rest(key, 'PUT', `/instances/${id}/`, body)).status).toBe(200)
      expect(await rentals.read(key, id)).toMatchObject({ label: 'mine', intended_status: 'stopped' })
    }
    for (const state of [null, '']) {
      expect((await app.rest(key, 'PUT', `/instances/${id}/`, { state, label: `label ${state}` })).status).toBe(200)
      expect(await rentals.read(key, id)).toMatchObject({ label: `label ${state}`, intended_status: 'stopped' })
    }
  })

  it('with only an empty label removes the label, for one instance and for many', async () => {
    const ids = [await rentals.rent(key, { label: 'mine' }), await rentals.rent(key, { label: 'mine' })]
    expect((await app.rest(key, 'PUT', `/instances/${ids[0]}/`, { label: '' })).body).toEqual({ success: true })
    expect((await app.rest(key, 'PUT', '/instances/', { ids: [ids[1]], label: '' })).body).toEqual({ success: true })
    for (const id of ids) expect((await rentals.read(key, id)).label).toBeNull()
  })

  it('of only the label succeeds while the instance waits for its GPUs', async () => {
    const id = await rentals.rent(key, { target_state: 'stopped' })
    const { machine_id } = await rentals.read(key, id)
    const { offers } = (await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })).body
    expect((await app.rest(key, 'PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })).status).toBe(200)
    const { body } = await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(body).toMatchObject({ success: false, error: 'resources_unavailable' })
    const labeled = await app.rest(key, 'PUT', `/instances/${id}/`, { label: 'patient' })
    expect([labeled.status, labeled.body]).toEqual([200, { success: true }])
    expect(await rentals.read(key, id)).toMatchObject({ label: 'patient', intended_status: 'running' })
  })

  it.each([{}, { state: null }, { label: null }, { client_id: 'me' }])(
    'with only %j is refused with 400',
    async body => {
      const id = await rentals.rent(key)
      expect(await app.rest(key, 'PUT', `/instances/${id}/`, body)).toMatchObject({ status: 400 })
    },
  )

  it.each(['[]', '"x"', '{', 'null', '1'])('with the body %s is refused with 400', async body => {
    expect(await app.rest(key, 'PUT', '/instances/', body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_args', msg: 'Invalid json body' },
    })
  })
})

describe('DELETE', () => {
  it.each([
    ['an empty body and a JSON content type', '', 'application/json'],
    ['{}', '{}', 'application/json'],
    ['no body', undefined, undefined],
  ])('works with %s', async (_name, body, type) => {
    const id = await rentals.rent(key)
    const headers = { authorization: `Bearer ${key}`, ...(type && { 'content-type': type }) }
    const init = { method: 'DELETE', headers, ...(body !== undefined && { body }) }
    const response = await app.fetch(new Request(`http://berth.test/api/v0/instances/${id}/`, init))
    expect([response.status, await response.json()]).toEqual([200, { success: true }])
  })
})
