// One test per row of the specification's table of creation fields, and per rule below it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { modeSelection } from '../../support/launch/modes.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Rents with this body, and returns the row of the instance. */
const rentAndRead = async (body: object) => await rentals.read(key, await rentals.rent(key, body))
/** Rents with this body, and returns the launch fields that only GraphQL has. */
const rentAndReadLaunch = async (body: object) => {
  const id = await rentals.rent(key, body)
  const { data } = await app.graphql(key, `{ instance(id: ${id}) { launch { ${modeSelection} onStart warnings } } }`)
  return data.instance.launch
}
const invalidArgs = (msg: unknown) => ({ status: 400, body: { success: false, error: 'invalid_args', msg } })

describe('image', () => {
  it('is the container image path', async () => {
    expect(await rentAndRead({ image: 'ghcr.io/org/name:tag' })).toMatchObject({ image_uuid: 'ghcr.io/org/name:tag' })
  })

  it('is required unless template_hash_id is given', async () => {
    expect(await rentals.tryRent(key, {})).toMatchObject(
      invalidArgs('image: must be given, unless a template has one.'),
    )
    expect((await rentals.tryRent(key, { template_hash_id: 'abc' })).body.error).not.toBe('invalid_args')
  })
})

describe('template_hash_id', () => {
  it('names a template, which must exist', async () => {
    const answer = await rentals.tryRent(key, { image: 'ubuntu', template_hash_id: 'abc' })
    expect(answer).toMatchObject({ status: 404, body: { success: false, error: 'not_found' } })
  })
})

describe('label', () => {
  it('is a custom name', async () => {
    expect(await rentAndRead({ label: 'Träning 🚀' })).toMatchObject({ label: 'Träning 🚀' })
  })
})

describe('disk', () => {
  it('is the local disk size in GB', async () => {
    expect(await rentAndRead({ disk: 20.5 })).toMatchObject({ disk_space: 20.5 })
  })

  it('is 8 by default', async () => {
    expect(await rentAndRead({})).toMatchObject({ disk_space: 8 })
  })
})

describe('runtype', () => {
  it('is the launch mode, ssh_proxy by default', async () => {
    expect(await rentAndRead({ runtype: 'args' })).toMatchObject({ image_runtype: 'args' })
    expect(await rentAndRead({})).toMatchObject({ image_runtype: 'ssh_proxy' })
  })

  it('must be a known launch mode', async () => {
    expect(await rentals.tryRent(key, { image: 'ubuntu', runtype: 'telnet' })).toMatchObject(
      invalidArgs(expect.stringMatching(/^runtype: must be one of ssh_direct, /)),
    )
  })
})

describe('target_state', () => {
  it.each(['running', 'stopped'])('may be %s', async target_state => {
    expect(await rentAndRead({ target_state })).toMatchObject({ intended_status: target_state })
  })

  it('is running by default', async () => {
    expect(await rentAndRead({})).toMatchObject({ intended_status: 'running' })
  })

  it('cannot be any other state', async () => {
    expect(await rentals.tryRent(key, { image: 'ubuntu', target_state: 'paused' })).toMatchObject(
      invalidArgs('target_state: must be one of running, stopped.'),
    )
  })
})

describe('price', () => {
  it('is a bid in $/hour, which makes the instance interruptible', async () => {
    expect(await rentAndRead({ price: 0.25 })).toMatchObject({ is_bid: true, min_bid: 0.25, dph_base: 0.25 })
  })

  it('is omitted for on-demand', async () => {
    expect(await rentAndRead({})).toMatchObject({ is_bid: false, dph_base: 0.4 })
  })
})

describe('env', () => {
  it('is environment variables and port mappings', async () => {
    const { extra_env } = await rentAndRead({ env: { A: 'one two', '-p 8000:8080': '1' } })
    expect(extra_env).toEqual([
      ['A', 'one two'],
      ['-p 8000:8080', '1'],
    ])
  })
})

describe('onstart', () => {
  it('is shell commands that run after the entrypoint', async () => {
    expect(await rentAndRead({ onstart: 'cd /srv\n./run' })).toMatchObject({ onstart: 'cd /srv\n./run' })
  })
})

describe('args_str', () => {
  it('replaces the image CMD', async () => {
    const { image_args } = await rentAndRead({ runtype: 'args', args_str: '--listen "0.0.0.0 all" -v' })
    expect(image_args).toEqual(['--listen', '0.0.0.0 all', '-v'])
  })

  it.each([undefined, 'ssh', 'jupyter_direct'])('is used only with runtype args, not with %s', async runtype => {
    expect(await rentals.tryRent(key, { image: 'ubuntu', runtype, args_str: 'x' })).toMatchObject(
      invalidArgs('args_str: can be given in args mode only.'),
    )
  })
})

describe('use_jupyter_lab', () => {
  it('uses the lab interface instead of the notebook interface', async () => {
    expect(await rentAndReadLaunch({ runtype: 'jupyter', use_jupyter_lab: true })).toMatchObject({
      mode: { jupyter: { lab: true } },
    })
    expect(await rentAndReadLaunch({ runtype: 'jupyter' })).toMatchObject({ mode: { jupyter: { lab: false } } })
  })
})

describe('jupyter_dir', () => {
  it('is the directory to launch the notebook server from', async () => {
    expect(await rentAndReadLaunch({ runtype: 'jupyter', jupyter_dir: '/data' })).toMatchObject({
      mode: { jupyter: { directory: '/data' } },
    })
  })
})

describe('python_utf8', () => {
  it('sets the Python locale', async () => {
    expect(await rentAndRead({ python_utf8: true })).toMatchObject({ extra_env: [['PYTHONUTF8', '1']] })
    expect(await rentAndRead({ python_utf8: false })).toMatchObject({ extra_env: [] })
  })
})

describe('lang_utf8', () => {
  it('sets the locale to C.UTF-8', async () => {
    const { extra_env } = await rentAndRead({ lang_utf8: true })
    expect(extra_env).toEqual([
      ['LANG', 'C.UTF-8'],
      ['LC_ALL', 'C.UTF-8'],
    ])
  })
})

describe('image_login', () => {
  const image_login = '-u "me myself" -p hunter2hunter2 registry.example.com'

  it('is registry credentials, which are never shown again', async () => {
    const id = await rentals.rent(key, { image_login })
    expect(JSON.stringify(await rentals.read(key, id))).not.toContain('hunter2')
    const [row] = await app.sql(
      `SELECT registry_login::text AS sealed, to_jsonb(i) AS row FROM instances i WHERE id = ${id}`,
    )
    expect(row).toMatchObject({ sealed: expect.stringMatching(/^\\x/) })
    const events = await app.sql(`SELECT to_jsonb(e) FROM events e WHERE instance_id = ${id}`)
    expect(JSON.stringify([row, events, app.logLines])).not.toMatch(/hunter2|68756e74657232/)
  })

  it.each(['registry.example.com', '-u me registry.example.com', '-u me -p secret', '-u me -p secret one two'])(
    'must be "-u USER -p PASSWORD HOST", not %s',
    async image_login => {
      const { status, body } = await rentals.tryRent(key, { image: 'ubuntu', image_login })
      expect([status, body.error]).toEqual([400, 'invalid_args'])
      expect(body.msg).toMatch(/^image_login: /)
      expect(body.msg).not.toContain('secret')
    },
  )
})

describe('cancel_unavail', () => {
  it('makes the request fail if the instance cannot start immediately, and leaves nothing behind', async () => {
    const other = await app.newKey(null, someCredit)
    const offerId = await rentals.newOffer()
    await app.rest(other, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu', price: 0.3 })
    const { body } = await app.rest(key, 'POST', '/bundles/', { type: 'bid', limit: 1, order: [['id', 'desc']] })
    const bid = { image: 'ubuntu', price: 0.25 }
    const path = `/asks/${body.offers[0].id}/`
    const before = (await app.rest(key, 'GET', '/instances/')).body.instances_found
    expect(await app.rest(key, 'PUT', path, { ...bid, cancel_unavail: true })).toMatchObject({
      status: 410,
      body: { error: 'no_such_ask' },
    })
    expect((await app.rest(key, 'GET', '/instances/')).body.instances_found).toBe(before)
    expect(await app.rest(key, 'PUT', path, bid)).toMatchObject({ status: 200 })
  })
})

describe('vm', () => {
  it('creates a VM, for which an SSH key must be registered', async () => {
    const answer = await rentals.tryRent(key, { image: 'ubuntu', vm: true })
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: 'no_ssh_key_for_vm' } })
  })
})

describe('volume_info', () => {
  it('attaches a volume, which must exist', async () => {
    const volume_info = { volume_id: 7, mount_path: '/data' }
    const answer = await rentals.tryRent(key, { image: 'ubuntu', volume_info })
    expect(answer).toMatchObject({ status: 404, body: { success: false, error: 'not_found' } })
  })

  it('is refused without a volume_id', async () => {
    const answer = await rentals.tryRent(key, { image: 'ubuntu', volume_info: { mount_path: '/data' } })
    expect(answer).toMatchObject(invalidArgs('volume_info.volume_id: is required.'))
  })
})

describe('Rule 1', () => {
  it.each([
    ['a list', ['A=1']],
    ['an object for a value', { A: {} }],
    ['an unknown flag', { '--gpus all': '1' }],
    ['a port without the container port', { '-p 80': '1' }],
    ['an invalid port', { '-p 0:80': '1' }],
    ['a port with another value', { '-p 80:80': '2' }],
    ['an invalid name', { '1A': 'x' }],
  ])('env is a JSON object of variables and port mappings: not %s', async (_what, env) => {
    expect(await rentals.tryRent(key, { image: 'ubuntu', env })).toMatchObject(
      invalidArgs(expect.stringMatching(/^env/)),
    )
  })
})

describe('Rule 4', () => {
  it('volume_info must be in the creation request: an update with one attaches nothing', async () => {
    const id = await rentals.rent(key)
    const volume_info = { volume_id: 7, mount_path: '/data' }
    expect((await app.rest(key, 'PUT', `/instances/${id}/`, { volume_info })).status).toBe(400)
    expect(await rentals.read(key, id)).toMatchObject({ volume_info: [] })
  })
})
