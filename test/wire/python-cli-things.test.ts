// The Python command line beyond rentals: keys, secrets, templates and volumes.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
let cli: Client

const profile = {
  agent: 'vastai-cli/0.0.0',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  cli = wire.createClient({ ...profile, key })
  await wire.listMachines({}, {}, {})
})

afterAll(() => wire.close())

async function rent(body: object = {}): Promise<number> {
  const { body: found } = await cli.post('/bundles/', { rentable: { eq: true }, limit: 1 })
  const created = await cli.put(`/asks/${found.offers[0].id}/`, { client_id: 'me', image: 'ubuntu', disk: 10, ...body })
  expect(created.body.success).toBe(true)
  return created.body.new_contract
}

it('manages SSH keys', async () => {
  const [first, second] = [aPublicKey('one'), aPublicKey('two')]
  const row = {
    ...{ id: 'integer', user_id: 'integer', public_key: 'words', created_at: 'number' },
    ...{ deleted_at: 'null', default: 'null', private_key: 'null' },
  } satisfies Shape
  const { body } = await cli.post('/ssh/', { ssh_key: `${first} me@home` })
  expectFields(body, { success: 'boolean', key: row })
  const { id } = body.key
  expectFields((await cli.get('/ssh/')).body, [row])
  expect(await cli.post('/ssh/', { ssh_key: first })).toMatchObject({
    status: 400,
    body: { msg: 'The SSH key already exists on this account' },
  })
  expectFields((await cli.put(`/ssh/${id}/`, { id, ssh_key: second })).body, { success: 'boolean', key: row })

  const instance = await rent({ runtype: 'ssh_direc ssh_proxy' })
  const path = `/instances/${instance}/ssh/`
  const already = { success: false, msg: 'SSH key already associated with instance.' }
  expect(await cli.post(path, { ssh_key: second })).toMatchObject({ status: 200, body: already })
  expect((await cli.post(path, { ssh_key: first })).body).toMatchObject({
    success: true,
    msg: 'SSH key added to instance.',
  })
  const { body: found } = await cli.get(path)
  expectFields(found, { success: 'boolean', ssh_keys: 'words' })
  expectFields(JSON.parse(found.ssh_keys), [row])
  expect((await cli.delete(`${path}${id}/`, {})).body).toMatchObject({
    success: true,
    msg: 'SSH key removed from instance.',
  })
  expect((await cli.delete(`/ssh/${id}/`, {})).body).toEqual({ success: true })
  expect((await cli.delete(`/ssh/${id}/`, {})).status).toBeGreaterThan(399)
  await cli.delete(`/instances/${instance}/`, {})
})

it('manages API keys', async () => {
  const permissions = { api: { misc: {}, user_read: {}, instance_read: {}, instance_write: {} } }
  const { body } = await cli.post('/auth/apikeys/', { name: 'ci', permissions, key_params: null })
  expectFields(body, { success: 'boolean', id: 'integer', key: 'words', permissions: 'object' })
  const made = wire.createClient({ ...profile, key: body.key })
  expect((await made.get('/users/current?owner=me')).status).toBe(200)
  const { body: list } = await cli.get('/auth/apikeys/')
  expectFields(list, {
    apikeys: [{ id: 'integer', user_id: 'integer', key: 'null', key_type: 'words', name: 'text', team_id: 'null' }],
  })
  expectFields((await cli.get(`/auth/apikeys/${body.id}/`)).body, { id: 'integer', name: 'words' })
  const gone = await cli.delete(`/auth/apikeys/${body.id}/`, {})
  expect(gone.text).toBe('"Successfully Deleted API Key"')
  expect((await made.get('/users/current?owner=me')).status).toBe(401)
  expect(await cli.delete(`/auth/apikeys/${body.id}/`, {})).toMatchObject({
    status: 404,
    body: { msg: 'API Key not found.' },
  })
  const reset = await cli.put('/commands/reset_apikey/', { client_id: 'me' })
  expectFields(reset.body, { success: 'boolean', key: 'words' })
  expect((await cli.get('/users/current?owner=me')).body.msg).toBe('Invalid user key')
  cli = wire.createClient({ ...profile, key: reset.body.key })
  expect((await cli.get('/users/current?owner=me')).status).toBe(200)
})

it('manages secrets', async () => {
  expectFields((await cli.post('/secrets/', { key: 'token', value: 'a' })).body, { success: 'boolean', msg: 'words' })
  expectFields((await cli.put('/secrets/', { key: 'TOKEN', value: 'b' })).body, { success: 'boolean', msg: 'words' })
  expect((await cli.get('/secrets/')).body).toEqual({ success: true, secrets: { TOKEN: '********' } })
  expectFields((await cli.delete('/secrets/', { key: 'TOKEN' })).body, { success: 'boolean', msg: 'words' })
  expect(await cli.delete('/secrets/', { key: 'TOKEN' })).toMatchObject({
    status: 400,
    body: { msg: 'Environment variable not found' },
  })
})

it('manages templates', async () => {
  const settings = {
    ...{ name: 'tpl', image: 'ubuntu', tag: '22.04', href: null, repo: null, env: '-e A=1 -p 80:80', onstart: 'true' },
    ...{
      jup_direct: false,
      ssh_direct: true,
      use_jupyter_lab: false,
      runtype: 'ssh',
      use_ssh: true,
      jupyter_dir: null,
    },
    ...{ docker_login_repo: null, extra_filters: { verified: { eq: true } }, recommended_disk_space: '20' },
    ...{ readme: null, readme_visible: true, desc: null, private: true },
  }
  const { body } = await cli.post('/template/', settings)
  const { template } = body
  expect(body).toMatchObject({ success: true, msg: `Template Created Successfully! New Template ID: ${template.id}` })
  expect(template.hash_id).toMatch(/^[0-9a-f]{32}$/)
  expect([template.recommended_disk_space, template.extra_filters]).toEqual([20, '{"verified":{"eq":true}}'])
  expect(await cli.post('/template/', settings)).toMatchObject({
    ...{ status: 200, body: { success: false, msg: expect.stringMatching(/^Existing Template Found: \d+/), template } },
  })
  const { body: updated } = await cli.put('/template/', { ...settings, name: 'other', hash_id: template.hash_id })
  expect(updated).toMatchObject({ success: true, msg: `Template ${template.id} Updated Successfully` })
  expect(updated.hash_id).not.toBe(template.hash_id)

  const find = async (select_filters: object) =>
    (
      await cli.get(
        `/template/?${new URLSearchParams({ select_cols: '["*"]', select_filters: JSON.stringify(select_filters) })}`,
      )
    ).body
  expect((await find({ count_created: { lt: '100' }, name: { eq: 'other' } })).templates_found).toBe(1)
  expect((await find({ count_created: { gt: '100' }, name: { eq: 'other' } })).templates).toEqual([])

  // With a template, the request names no image and no runtype.
  const id = await rent({ image: null, template_hash_id: updated.hash_id, env: { B: '2' }, runtype: null })
  const { instances } = (await cli.get(`/instances/${id}/?owner=me`)).body
  expect(instances).toMatchObject({
    image_uuid: 'ubuntu:22.04',
    template_id: template.id,
    template_hash_id: updated.hash_id,
  })
  expect(Object.fromEntries(instances.extra_env)).toMatchObject({ A: '1', B: '2', '-p 80:80': '1' })
  await cli.delete(`/instances/${id}/`, {})
  expect((await cli.delete('/template/', { template_id: template.id })).body.msg).toBe(
    `Template ${template.id} Deleted Successfully`,
  )
  expect((await cli.put('/template/', { ...settings, hash_id: updated.hash_id })).body.msg).toContain(updated.hash_id)
})

it('manages volumes', async () => {
  const { body: offers } = await cli.post('/volumes/search/', {
    ...{ verified: { eq: true }, external: { eq: false }, disk_space: { gte: 1, gt: '10' } },
    ...{ order: [['score', 'desc']], allocated_storage: 1.0 },
  })
  expectFields(offers.offers, [
    {
      ...{
        id: 'integer',
        ask_contract_id: 'integer',
        disk_space: 'number',
        storage_cost: 'number',
        duration: 'number',
      },
      ...{
        reliability: 'number',
        machine_id: 'integer',
        host_id: 'integer',
        verification: 'words',
        geolocation: 'words',
      },
      ...{ disk_bw: 'number', disk_name: 'text', inet_up: 'number', inet_down: 'number', cuda_max_good: 'number' },
      ...{ cpu_ghz: 'number', driver_version: 'words' },
    },
  ])
  const ask = offers.offers[0].id
  const { body } = await cli.put('/volumes/', { size: 20, id: ask, name: 'vol1' })
  expect(body).toEqual({ success: true, id: expect.any(Number), volume_id: body.id, volume_name: `V.${body.id}` })
  const list = async () => (await cli.get('/volumes?owner=me&type=local_volume')).body
  expectFields(await list(), {
    volumes: [
      {
        ...{
          id: 'integer',
          cluster_id: 'null',
          label: 'words',
          disk_space: 'number',
          status: 'words',
          disk_name: 'text',
        },
        ...{
          driver_version: 'words',
          inet_up: 'number',
          inet_down: 'number',
          reliability2: 'number',
          start_date: 'number',
        },
        ...{
          machine_id: 'integer',
          verification: 'words',
          host_id: 'integer',
          geolocation: 'words',
          instances: 'list of integer',
        },
      },
    ],
  })

  const { body: found } = await cli.post('/bundles/', { machine_id: { eq: ask } })
  expect(found.offers[0]).toMatchObject({ avail_vol_ask_id: ask, avail_vol_size: found.offers[0].disk_space })
  const volume_info = { mount_path: '/data', create_new: false, volume_id: body.id }
  const { body: created } = await cli.put(`/asks/${found.offers[0].id}/`, {
    client_id: 'me',
    image: 'ubuntu',
    disk: 10,
    volume_info,
  })
  expect((await list()).volumes[0].instances).toEqual([created.new_contract])
  const { body: shown } = await cli.get(`/instances/${created.new_contract}/?owner=me`)
  expectFields(shown.instances.volume_info, [{ id: 'integer', avail_space: 'number', total_space: 'number' }])
  expect(shown.instances.volume_info).toMatchObject([{ id: body.id, total_space: 20 }])
  const inUse = await cli.delete(`/volumes/?id=${body.id}`, {})
  expect(inUse).toMatchObject({
    status: 409,
    body: { error: 'volume in use', msg: 'existing instances use that volume!' },
  })
  await cli.delete(`/instances/${created.new_contract}/`, {})
  await wire.pollUntil(
    () => cli.get('/volumes?owner=me'),
    ({ body }) => body.volumes[0].instances.length === 0,
  )
  expect((await cli.delete(`/volumes/?id=${body.id}`, {})).body).toEqual({ success: true })

  // One instance creates the volume, and the next instance attaches the volume by its name.
  const other = offers.offers[1].id
  const { body: both } = await cli.post('/bundles/', { machine_id: { eq: other } })
  const withNew = { mount_path: '/data', create_new: true, volume_id: other, name: 'vol2', size: 20 }
  const first = await cli.put(`/asks/${both.offers[0].id}/`, {
    client_id: 'me',
    image: 'ubuntu',
    disk: 10,
    volume_info: withNew,
  })
  expect((await list()).volumes).toMatchObject([
    { label: 'vol2', disk_space: 20, instances: [first.body.new_contract] },
  ])
  const [{ id }] = (await list()).volumes
  await cli.delete(`/instances/${first.body.new_contract}/`, {})
  await wire.pollUntil(
    () => cli.get('/volumes?owner=me'),
    ({ body }) => body.volumes[0].instances.length === 0,
  )
  const { body: again } = await cli.post('/bundles/', { machine_id: { eq: other } })
  const env = { A: '1', [`-v V.${id}:/mnt`]: '1', '-h': 'host' }
  const second = await cli.put(`/asks/${again.offers[0].id}/`, { client_id: 'me', image: 'ubuntu', disk: 10, env })
  expect((await list()).volumes).toMatchObject([{ instances: [second.body.new_contract], mount_path: '/mnt' }])
})
