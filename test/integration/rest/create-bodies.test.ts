// Rent requests as existing clients write them, and the instances that they create.

import { afterAll, beforeAll, expect, it } from 'vitest'
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

it.each<[string, object, object]>([
  [
    'disk_space for disk, and a variable name that starts with an underscore',
    { image: 'ubuntu', disk_space: 20, env: { _a: '1' } },
    { disk_space: 20, extra_env: [['_a', '1']], image_runtype: 'ssh_proxy' },
  ],
  [
    'null for every absent field, and fields of another API version',
    {
      ...{ image: 'ubuntu', disk: 20.5, template_id: null, template_hash_id: null, label: null, price: null },
      ...{ args: null, args_str: null, vm: null, use_ssh: null, volume_info: null, runtype: 'ssh', env: null },
    },
    { disk_space: 20.5, label: null, is_bid: false, extra_env: [] },
  ],
  [
    'onstart with a list of arguments in the mode args',
    {
      ...{ client_id: 'me', image: 'ubuntu:22.04', disk: 100, label: 'x', user: 'root', runtype: 'args' },
      ...{
        env: { '-p 10022:10022': '1' },
        args: ['-c', 'echo "a b" && sleep 1'],
        onstart: '/bin/sh',
        image_login: null,
      },
    },
    {
      ...{ image_runtype: 'args', image_args: ['-c', 'echo "a b" && sleep 1'], onstart: '/bin/sh', disk_space: 100 },
      extra_env: [['-p 10022:10022', '1']],
    },
  ],
  [
    'arguments as one string',
    { image: 'ubuntu', runtype: 'args', args: 'bash -c "sleep 3"' },
    { image_args: ['bash', '-c', 'sleep 3'] },
  ],
  [
    'an environment as flags, and a bid',
    {
      ...{ image: 'ubuntu', env: '-e __SOURCE=sky -p 80:80', direct: true, ssh: true, onstart: 'touch ~/.x;' },
      ...{ label: 'sky', disk: 50, price: 0.4, target_state: 'running' },
    },
    {
      ...{ is_bid: true, dph_base: 0.4, intended_status: 'running', onstart: 'touch ~/.x;' },
      extra_env: [
        ['__SOURCE', 'sky'],
        ['-p 80:80', '1'],
      ],
    },
  ],
  [
    'credentials with quotes, and an empty list of arguments',
    { image: 'x/y:1', image_login: "-u 'me' -p 'sec ret' ghcr.io", runtype: 'args', args: [] },
    { image_uuid: 'x/y:1', image_args: [] },
  ],
  [
    'an image with a tag that the registry chooses',
    { image: 'some/base-image:@automatic-tag' },
    { image_uuid: 'some/base-image:@automatic-tag' },
  ],
])('takes %s', async (_name, body, row) => {
  const { status, body: made } = await rentals.tryRent(key, body)
  expect([status, made]).toEqual([
    200,
    { success: true, new_contract: expect.any(Number), instance_api_key: expect.any(String) },
  ])
  expect(await rentals.read(key, made.new_contract)).toMatchObject(row)
})

it('creates a volume with the instance, and attaches it to a later instance by its id', async () => {
  const offer = await rentals.newOffer()
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offer}`)
  const { machine_id } = row as { machine_id: number }
  const made = { mount_path: '/data', create_new: true, volume_id: machine_id, name: 'vol1', size: 20 }
  const first = await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu', volume_info: made })
  expect(first.status).toBe(200)
  const [volume] = await app.sql(`SELECT id, size_mb, name FROM volumes WHERE machine_id = ${machine_id}`)
  const { id, size_mb, name } = volume as { id: string; size_mb: number; name: string }
  expect([size_mb, name]).toEqual([20_000, 'vol1'])
  await app.rest(key, 'DELETE', `/instances/${first.body.new_contract}/`)
  await rentals.converge()
  const [next] = await app.sql(
    `SELECT max(id) AS id FROM offers WHERE machine_id = ${machine_id} AND rentable AND withdrawn_at IS NULL`,
  )
  const attached = { mount_path: '/data', create_new: false, volume_id: Number(id) }
  const again = await app.rest(key, 'PUT', `/asks/${(next as { id: string }).id}/`, {
    image: 'ubuntu',
    volume_info: attached,
  })
  expect(again.status).toBe(200)
  const [attachment] = await app.sql(
    `SELECT mount_path FROM volume_attachments WHERE instance_id = ${again.body.new_contract}`,
  )
  expect(attachment).toEqual({ mount_path: '/data' })
})
