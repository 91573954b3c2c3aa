// Templates as REST clients save, find, change and delete them.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { modeSelection, readModes } from '../../support/launch/modes.ts'
import { readStoredSecrets, templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const newKey = () => app.newKey(null, someCredit)
const save = (body: object, by = key) => app.rest(by, 'POST', '/template/', body)
const mustSave = async (body: object = {}, by = key) => {
  const answer = await save({ name: 'T', image: 'ubuntu', ...body }, by)
  expect(answer).toMatchObject({ status: 200, body: { success: true } })
  return answer.body.template
}
const change = (body: object, by = key, version = '') => app.rest(by, 'PUT', `${version}/template/`, body)
const find = async (by: string, query: Record<string, unknown> = {}, version = '') => {
  const pairs = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const { status, body } = await app.rest(by, 'GET', `${version}/template/?${new URLSearchParams(pairs)}`)
  expect(status).toBe(200)
  return body
}
const namesOf = ({ templates }: { templates: { name: string }[] }) => templates.map(({ name }) => name)
/** `app.rest` prefixes paths with v0. */
const v1 = '/../v1'

/** A template as a command-line client sends it. */
const fullTemplate = {
  ...{ name: 'whole', image: 'vastai/pytorch', tag: '2.4', href: 'https://example.com', repo: 'vastai/pytorch' },
  ...{ env: '-p 80:80 -e A=1', onstart: 'echo hi', jup_direct: false, ssh_direct: true, use_jupyter_lab: false },
  ...{ runtype: 'ssh', use_ssh: true, jupyter_dir: null, docker_login_repo: null },
  ...{ extra_filters: { cuda_max_good: { gte: 12.6 } }, recommended_disk_space: '20' },
  ...{ readme: '# Hi', readme_visible: true, desc: 'short', private: true },
}

describe('a template', () => {
  it('is shown as it was sent', async () => {
    const by = await newKey()
    const { status, body } = await save(fullTemplate, by)
    const { id } = body.template
    expect([status, body.success, body.msg]).toEqual([
      200,
      true,
      `Template Created Successfully! New Template ID: ${id}`,
    ])
    const { body: account } = await app.rest(by, 'GET', '/users/current')
    expect(body.template).toEqual({
      ...{ id, creator_id: account.id, hash_id: expect.stringMatching(/^[0-9a-f]{32}$/), name: 'whole' },
      ...{ image: 'vastai/pytorch', tag: '2.4', env: '-p 80:80 -e A=1', onstart: 'echo hi', runtype: 'ssh' },
      ...{ use_ssh: true, ssh_direct: true, jup_direct: false, use_jupyter_lab: false, jupyter_dir: null },
      ...{ args_str: null, docker_login_repo: '', docker_login_user: '', docker_login_pass: '' },
      ...{ recommended_disk_space: 20, recommended: false, extra_filters: '{"cuda_max_good":{"gte":12.6}}' },
      ...{ private: true, desc: 'short', readme: '# Hi', readme_visible: true, href: 'https://example.com' },
      ...{ repo: 'vastai/pytorch', volume_info: null, count_created: 0 },
      ...{ created_at: app.clock.now().getTime() / 1000, updated_at: app.clock.now().getTime() / 1000 },
    })
    expect((await find(by, { select_filters: { private: true } })).templates).toEqual([body.template])
    const { data } = await app.graphql(
      by,
      `{ template(by: { id: ${id} }) { hashId image ${modeSelection} diskGb onStart public description
      readme env { name value } ports { containerPort } } }`,
    )
    expect(data.template).toEqual({
      ...{ hashId: body.template.hash_id, image: 'vastai/pytorch:2.4', mode: readModes.ssh_direct, diskGb: 20 },
      ...{ onStart: 'echo hi', public: false, description: 'short', readme: '# Hi' },
      ...{ env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }] },
    })
  })

  it('starts rentals, which are counted per renting account', async () => {
    const [by, other] = [await newKey(), await newKey()]
    const { hash_id: hash } = await mustSave({ private: false, env: '-e A=1' }, by)
    const id = await rentals.rent(by, { image: null, template_hash_id: hash, label: 'x' })
    expect(await rentals.read(by, id)).toMatchObject({ template_hash_id: hash, extra_env: [['A', '1']] })
    const shown = async (who: string) => (await find(who, { select_filters: { hash_id: { eq: hash } } })).templates
    expect(await shown(by)).toMatchObject([{ count_created: 1 }])
    expect(await shown(other)).toMatchObject([{ count_created: 0, creator_id: null, private: false }])
  })

  it('is not saved again if an equal template exists: the answer has status 200 and that template', async () => {
    const by = await newKey()
    const first = await mustSave(fullTemplate, by)
    const { status, body } = await save(fullTemplate, by)
    expect([status, body]).toEqual([
      200,
      { success: false, msg: `Existing Template Found: ${first.id}`, template: first },
    ])
    expect((await mustSave(fullTemplate)).hash_id).not.toBe(first.hash_id)
  })

  it.each([
    [{ runtype: 'ssh' }, readModes.ssh_proxy, ['ssh', true, false, false]],
    [{ runtype: 'ssh', ssh_direct: true }, readModes.ssh_direct, ['ssh', true, true, false]],
    [{ runtype: 'jupyter', ssh_direct: false }, readModes.jupyter_proxy, ['jupyter', true, false, false]],
    [
      { runtype: 'jupyter', jup_direct: true, ssh_direct: true },
      readModes.jupyter_direct,
      ['jupyter', true, true, true],
    ],
    [{ runtype: 'args', use_ssh: false }, readModes.args, ['args', false, false, false]],
    [{ runtype: 'ssh_direc ssh_proxy' }, readModes.ssh_direct, ['ssh', true, true, false]],
    [{ runtype: null, ssh_direct: true }, readModes.ssh_direct, ['ssh', true, true, false]],
    [{ jup_direct: true }, readModes.jupyter_direct, ['jupyter', true, true, true]],
    [{ use_ssh: true }, readModes.ssh_proxy, ['ssh', true, false, false]],
    [
      { args_str: 'serve "a b"' },
      { ...readModes.args, args: { args: ['serve', 'a b'] } },
      ['args', false, false, false],
    ],
    [{}, null, ['ssh', true, false, false]],
  ])('with %j has the mode %j', async (body, mode, words) => {
    const by = await newKey()
    const row = await mustSave(body, by)
    const { data } = await app.graphql(by, `{ template(by: { id: ${row.id} }) { ${modeSelection} } }`)
    expect(data.template.mode).toEqual(mode)
    expect([row.runtype, row.use_ssh, row.ssh_direct, row.jup_direct]).toEqual(words)
    expect(row.args_str).toBe('args_str' in body ? body.args_str : null)
  })

  it.each([
    [{ image: 'ubuntu:22.04' }, 'ubuntu:22.04', '', 'ubuntu:22.04'],
    [{ image: 'ubuntu', tag: '22.04' }, 'ubuntu', '22.04', 'ubuntu:22.04'],
    [{ image: 'ubuntu:20.04', tag: '22.04' }, 'ubuntu', '22.04', 'ubuntu:22.04'],
    [{ image: 'localhost:5000/ubuntu', tag: '22.04' }, 'localhost:5000/ubuntu', '22.04', 'localhost:5000/ubuntu:22.04'],
    [{ image: 'ubuntu@sha256:0a', tag: '22.04' }, 'ubuntu@sha256:0a', '', 'ubuntu@sha256:0a'],
  ])('combines image and tag of %j', async (body, image, tag, started) => {
    const by = await newKey()
    const row = await mustSave(body, by)
    expect([row.image, row.tag]).toEqual([image, tag])
    const { data } = await app.graphql(by, `{ template(by: { id: ${row.id} }) { image } }`)
    expect(data.template.image).toBe(started)
  })

  it('stores a password encrypted and shows a mask', async () => {
    const by = await newKey()
    const login = { docker_login_repo: 'ghcr.io', docker_login_user: 'me', docker_login_pass: 'hush-hush' }
    const row = await mustSave(login, by)
    expect(row).toMatchObject({ ...login, docker_login_pass: '********' })
    expect(await readStored(row.id)).toMatchObject({ registry: { password: 'hush-hush' } })
    expect(JSON.stringify(await app.sql('SELECT t::text FROM templates t'))).not.toContain('hush')
    expect((await save({ ...login, name: 'public', image: 'ubuntu', private: false }, by)).status).toBe(400)
  })

  it('suggests a volume', async () => {
    const row = await mustSave({ name: 'volume', volume_info: { mount_path: '/data', size: 10, type: 'new' } })
    expect(row.volume_info).toEqual({ mount_path: '/data', size: 10 })
    expect((await mustSave({ name: 'no volume', volume_info: {} })).volume_info).toBeNull()
  })

  it.each([
    [{ image: 'u' }, 'name: must be given.'],
    [{ name: 'n' }, 'image: must be given.'],
    [{ name: 'n', image: 'u', env: '-x' }, 'env: '],
    [{ name: 'n', image: 'u', env: { 'B-D': '1' } }, 'env.B-D: must have a name of letters'],
    [{ name: 'n', image: 'u', env: '-v V.1:/x' }, 'env: cannot be part of a template. Attach volumes when you rent.'],
    [{ name: 'n', image: 'u', env: 7 }, 'env: '],
    [{ name: 'n', image: 'u', recommended_disk_space: 'much' }, 'recommended_disk_space: '],
    [{ name: 'n', image: 'u', recommended_disk_space: 1 }, 'recommended_disk_space: must be a number of GB from 8'],
    [{ name: 'n', image: 'u', docker_login_user: 'me' }, 'docker_login_repo: must name a user, a password'],
    [{ name: 'n', image: 'u', extra_filters: '[1]' }, 'extra_filters: must be an object.'],
    [{ name: 'n', image: 'u', runtype: 'vnc' }, 'runtype: must be one of'],
    [{ name: 'n', image: 'u', runtype: 'args', args_str: '"' }, 'args_str: '],
    [{ name: 'n', image: 'u', desc: 'x'.repeat(2_049) }, 'desc: must have at most 2048 characters'],
    [{ name: 'n', image: 'u', readme: 'a\0' }, 'readme: must be well-formed Unicode'],
  ])('of %j is refused', async (body, msg) => {
    const answer = await save(body)
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { error: 'invalid_args', msg: expect.stringContaining(msg) },
    ])
  })
})

const readStored = async (id: number) => await readStoredSecrets(app, id)

describe('a change', () => {
  it.each(['', v1])('by %s/template/ changes the given fields and keeps the rest', async version => {
    const by = await newKey()
    const before = await mustSave(fullTemplate, by)
    app.clock.advance(1_000)
    const { status, body } = await change(
      { hash_id: before.hash_id, desc: 'new', recommended_disk_space: 16 },
      by,
      version,
    )
    const after = { ...before, desc: 'new', recommended_disk_space: 16, updated_at: app.clock.now().getTime() / 1000 }
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        hash_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        msg: `Template ${before.id} Updated Successfully`,
        template: { ...after, hash_id: body.hash_id },
      },
    ])
    expect(body.hash_id).not.toBe(before.hash_id)
    expect((await find(by, { select_filters: { id: before.id } })).templates).toEqual([body.template])
  })

  it('replaces all fields that a client sends', async () => {
    const by = await newKey()
    const { hash_id: hash } = await mustSave(fullTemplate, by)
    const other = {
      ...fullTemplate,
      name: 'other',
      image: 'ubuntu',
      tag: null,
      env: '-e B=2',
      runtype: 'args',
      ssh_direct: false,
    }
    const { body } = await change({ ...other, use_ssh: false, hash_id: hash, args_str: 'run' }, by)
    expect(body.template).toMatchObject({
      name: 'other',
      image: 'ubuntu',
      tag: '',
      env: '-e B=2',
      runtype: 'args',
      args_str: 'run',
    })
  })

  it('to the tag keeps the image, and a change to an image with a tag empties the tag', async () => {
    const by = await newKey()
    let { hash_id: hash } = await mustSave({ image: 'ubuntu', tag: '20.04' }, by)
    const step = async (body: object) => {
      const answer = await change({ hash_id: hash, ...body }, by)
      hash = answer.body.hash_id
      return [answer.body.template.image, answer.body.template.tag]
    }
    expect(await step({ tag: '22.04' })).toEqual(['ubuntu', '22.04'])
    expect(await step({ image: 'debian:12' })).toEqual(['debian:12', ''])
    expect(await step({ name: 'other' })).toEqual(['debian:12', ''])
  })

  it('without differences keeps the hash, and v1 says so', async () => {
    const by = await newKey()
    const before = await mustSave(fullTemplate, by)
    const { body } = await change({ hash_id: before.hash_id }, by, v1)
    expect([body.hash_id, body.msg]).toEqual([before.hash_id, `No Edits made for template ${before.id}`])
  })

  it('to another mode drops the settings of the previous mode', async () => {
    const by = await newKey()
    const { hash_id: hash } = await mustSave({ runtype: 'jupyter', use_jupyter_lab: true, jupyter_dir: '/w' }, by)
    const { status, body } = await change({ hash_id: hash, runtype: 'ssh' }, by)
    expect([status, body.template]).toMatchObject([200, { runtype: 'ssh', use_jupyter_lab: false, jupyter_dir: null }])
  })

  it('keeps secrets that are sent back as their mask', async () => {
    const by = await newKey()
    const { id } = await templatesOf(app).mustCreate(by, {
      env: [
        { name: 'TOKEN', value: 'hush', secret: true },
        { name: 'A', value: '1' },
      ],
      registry: { host: 'ghcr.io', username: 'me', password: 'pass' },
    })
    const [row] = (await find(by, { select_filters: { private: true } })).templates
    expect([row.env, row.docker_login_pass]).toEqual([expect.stringContaining('********'), '********'])
    const { body } = await change({ ...row, name: 'again' }, by)
    expect(body.template).toMatchObject({ name: 'again', env: row.env })
    const number = Number(id.slice('tpl_'.length))
    expect(await readStored(number)).toEqual({
      env: { TOKEN: 'hush' },
      registry: { host: 'ghcr.io', username: 'me', password: 'pass' },
    })
    const gone = await change({ hash_id: body.hash_id, env: '-e A=2', docker_login_pass: 'new' }, by)
    expect(await readStored(number)).toMatchObject({ env: null, registry: { password: 'new' } })
    expect(gone.body.template.env).toBe('-e A=2')
    // A password must be sent only to the host that it was given for.
    const moved = await change({ hash_id: gone.body.hash_id, docker_login_repo: 'evil.example' }, by)
    expect([moved.status, moved.body.error]).toEqual([400, 'invalid_args'])
  })

  it('is refused if another template got its hash concurrently', async () => {
    const by = await newKey()
    const [one, other] = [await mustSave({ name: 'one' }, by), await mustSave({ name: 'other' }, by)]
    const client = new pg.Client({ connectionString: app.database.url })
    await client.connect()
    // The change can find the template, and must wait to lock it.
    await client.query('BEGIN; LOCK TABLE templates IN EXCLUSIVE MODE')
    const changing = change({ hash_id: one.hash_id, desc: 'new' }, by)
    const waiting = () => app.sql(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'templates'::regclass`)
    await expect.poll(waiting).toHaveLength(1)
    await client.query(`UPDATE templates SET name = 'first', hash_id = '${'0'.repeat(32)}' WHERE id = ${one.id}`)
    await client.query(`UPDATE templates SET hash_id = '${one.hash_id}' WHERE id = ${other.id}; COMMIT`)
    await client.end()
    expect(await changing).toMatchObject({ status: 400, body: { error: 'not_found' } })
    expect(namesOf(await find(by, { select_filters: { private: true } }))).toEqual(['other', 'first'])
  })

  it('keeps flags as they were sent, even with masked secrets among them', async () => {
    const by = await newKey()
    const { id, hashId } = await templatesOf(app).mustCreate(by, {
      env: [{ name: 'TOKEN', value: 'hush', secret: true }],
    })
    const env = '-p 80:80  --env "TOKEN=********" -e A=1'
    const { body } = await change({ hash_id: hashId, env }, by)
    expect(body.template.env).toBe(env)
    expect(await readStored(Number(id.slice('tpl_'.length)))).toMatchObject({ env: { TOKEN: 'hush' } })
  })

  it.each([
    ['', 400, 'not_found', 'Unable to Update Template. None found for given Hash ID: HASH'],
    [v1, 404, 'invalid_template', 'error 404: Template not found'],
  ])(
    "to an unknown template or another account's template is refused alike by %s/template/",
    async (version, status, error, msg) => {
      const { hash_id: hash } = await mustSave({ name: 'foreign', private: false })
      await change({ hash_id: hash, desc: version || 'v0' })
      const stranger = await newKey()
      for (const wrong of [hash, 'f'.repeat(32), 'nonsense']) {
        const answer = await change({ hash_id: wrong, desc: 'mine' }, stranger, version)
        expect([answer.status, answer.body]).toEqual([
          status,
          { success: false, error, msg: msg.replace('HASH', wrong) },
        ])
      }
      const { body } = await change({ desc: 'x' }, stranger, version)
      expect(body).toMatchObject({ error: 'invalid_args', msg: 'hash_id: is required.' })
    },
  )

  it('accepts the hash under template', async () => {
    const by = await newKey()
    const { hash_id: hash } = await mustSave({}, by)
    expect((await change({ template: { hash_id: hash }, desc: 'x' }, by)).status).toBe(200)
  })

  it('that makes a template equal to another template is refused', async () => {
    const by = await newKey()
    const [one] = [await mustSave({ name: 'one' }, by), await mustSave({ name: 'two' }, by)]
    const { status, body } = await change({ hash_id: one.hash_id, name: 'two' }, by)
    expect([status, body.error]).toEqual([409, 'conflict'])
  })

  it('is forbidden to a key that is bound to another template', async () => {
    const by = await newKey()
    const [one, other] = [await mustSave({ name: 'one' }, by), await mustSave({ name: 'two' }, by)]
    const constraints = { id: { eq: one.id } }
    const bound = { 'templates.save': { constraints }, 'templates.delete': { constraints } }
    const scoped = await app.newScopedKey(by, { api: { user_write: bound } })
    expect((await change({ hash_id: other.hash_id, desc: 'x' }, scoped)).status).toBe(403)
    expect((await app.rest(scoped, 'DELETE', '/template/', { hash_id: other.hash_id })).status).toBe(403)
    const { status, body } = await change({ hash_id: one.hash_id, desc: 'x' }, scoped)
    expect(status).toBe(200)
    expect((await app.rest(scoped, 'DELETE', '/template/', { hash_id: body.hash_id })).status).toBe(200)
  })
})

describe('a deletion', () => {
  it.each(['template_id', 'hash_id'])('removes the template that its %s names', async name => {
    const by = await newKey()
    const { id, hash_id } = await mustSave({}, by)
    const body = name === 'hash_id' ? { hash_id } : { template_id: id }
    const { status, body: answer } = await app.rest(by, 'DELETE', '/template', body)
    expect([status, answer]).toEqual([200, { success: true, msg: `Template ${id} Deleted Successfully` }])
    expect((await find(by, { select_filters: { id } })).templates).toEqual([])
    const again = await app.rest(by, 'DELETE', '/template/', body)
    expect([again.status, again.body.error]).toEqual([404, 'not_found'])
  })

  it("of another account's template, or without an id and a hash, is refused", async () => {
    const { id, hash_id } = await mustSave({ name: 'kept', private: false })
    const stranger = await newKey()
    for (const body of [{ template_id: id }, { hash_id }, { template_id: 987_654 }]) {
      const answer = await app.rest(stranger, 'DELETE', '/template/', body)
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
    const { status, body } = await app.rest(stranger, 'DELETE', '/template/')
    expect([status, body.msg]).toEqual([400, 'Invalid Template ID or User ID'])
    expect((await find(key, { select_filters: { id: { eq: id } } })).templates).toHaveLength(1)
  })
})

describe('a search', () => {
  let by: string
  const mine = { private: { eq: true } }

  beforeAll(async () => {
    by = await newKey()
    await mustSave({ name: 'Abc', runtype: 'ssh', recommended_disk_space: 100 }, by)
    await mustSave({ name: 'bcd', runtype: 'args', image: 'nginx' }, by)
    const { hash_id: hash } = await mustSave({ name: 'cde', runtype: 'jupyter', jup_direct: true, desc: 'Third' }, by)
    await rentals.rent(by, { image: null, template_hash_id: hash })
  })

  it.each([
    [{}, ['cde', 'bcd', 'Abc']],
    [{ name: { eq: 'abc' } }, ['Abc']],
    [{ name: 'abc' }, ['Abc']],
    [{ name: { in: ['ABC', 'cde'] } }, ['cde', 'Abc']],
    [{ name: ['ABC'] }, ['Abc']],
    [{ name: { notin: ['abc'] } }, ['cde', 'bcd']],
    [{ name: { neq: 'abc', in: ['abc', 'cde'] } }, ['cde']],
    [{ image: { eq: 'nginx' } }, ['bcd']],
    [{ desc: { eq: 'third' } }, ['cde']],
    [{ count_created: { gt: '0' } }, ['cde']],
    [{ count_created: { gt: 100 } }, []],
    [{ recommended_disk_space: { gte: '20' } }, ['Abc']],
    [{ use_ssh: { eq: false } }, ['bcd']],
    [{ use_ssh: { eq: 'true' } }, ['cde', 'Abc']],
    [{ ssh_direct: { eq: true } }, ['cde']],
    [{ jup_direct: true }, ['cde']],
    [{ recommended: { eq: true } }, []],
    [{ use_jupyter_lab: { neq: true } }, ['cde', 'bcd', 'Abc']],
    [{ created_at: { gt: 0 } }, ['cde', 'bcd', 'Abc']],
    [{ name: null }, ['cde', 'bcd', 'Abc']],
  ])('with %j finds %j', async (filters, expected) => {
    const answer = await find(by, { select_filters: { ...mine, ...filters } })
    expect(namesOf(answer)).toEqual(expected)
    expect(answer.templates_found).toBe(expected.length)
    expect([answer.success, answer.msg]).toEqual([true, expected.length === 0 ? 'No templates found' : undefined])
  })

  it('finds only own and public templates', async () => {
    const stranger = await newKey()
    const { id } = await mustSave({ name: 'for all', private: false }, stranger)
    await mustSave({ name: 'for one' }, stranger)
    const names = namesOf(await find(by))
    expect([names.includes('for all'), names.includes('for one')]).toEqual([true, false])
    const { body } = await app.rest(by, 'GET', '/users/current')
    const own = await find(by, { select_filters: { creator_id: { eq: body.id } } })
    expect(namesOf(own)).toEqual(['cde', 'bcd', 'Abc'])
    expect((await find(by, { select_filters: { id: { eq: id } } })).templates).toHaveLength(1)
  })

  it('hides the owner of a public template in filters, orders and tokens', async () => {
    // Account ids that no token contains by chance.
    await app.sql(`SELECT setval(pg_get_serial_sequence('accounts', 'id'), 770077000)`)
    const [earlier, later] = [await newKey(), await newKey()]
    const first = await mustSave({ name: 'of the later', private: false }, later)
    const second = await mustSave({ name: 'of the earlier', private: false }, earlier)
    const these = { id: { in: [first.id, second.id] } }
    const { body: account } = await app.rest(later, 'GET', '/users/current')
    const mine = await find(later, { select_filters: { ...these, creator_id: { eq: account.id } } })
    expect(namesOf(mine)).toEqual(['of the later'])
    for (const creator_id of [{ eq: account.id }, { gte: account.id }, { neq: 0 }, { in: [account.id] }])
      expect((await find(by, { select_filters: { ...these, creator_id } })).templates).toEqual([])
    const order_by = [{ col: 'creator_id', dir: 'asc' }]
    const page = await find(by, { select_filters: these, order_by, limit: '1' }, v1)
    expect(namesOf(page)).toEqual(['of the later'])
    expect(Buffer.from(page.next_token, 'base64url').toString()).not.toContain('770077')
    const rest = await find(by, { select_filters: these, order_by, after_token: page.next_token }, v1)
    expect(namesOf(rest)).toEqual(['of the earlier'])
  })

  it.each([
    ['name', ['Abc', 'bcd', 'cde']],
    [[{ col: 'name', dir: 'desc' }], ['cde', 'bcd', 'Abc']],
    [[['recommended_disk_space', 'desc']], ['Abc', 'cde', 'bcd']],
    [
      ['name', 'desc'],
      ['cde', 'bcd', 'Abc'],
    ],
    [[{ col: 'use_ssh' }], ['bcd', 'Abc', 'cde']],
    [[{ col: 'count_created', dir: 'desc' }], ['cde', 'bcd', 'Abc']],
    [[{ col: 'creator_id', dir: 'asc' }], ['Abc', 'bcd', 'cde']],
    [[], ['cde', 'bcd', 'Abc']],
  ])('is sorted by %j, in one list and in pages', async (order, expected) => {
    const query = { select_filters: mine, order_by: order }
    expect(namesOf(await find(by, query))).toEqual(expected)
    const pages: string[] = []
    let after: string | null = ''
    for (let page = 0; after !== null && page < 5; page += 1) {
      const answer = await find(by, { ...query, limit: '1', after_token: after }, v1)
      pages.push(...namesOf(answer))
      after = answer.next_token
    }
    expect([pages, after]).toEqual([expected, null])
  })

  it('returns the requested columns', async () => {
    const filter = { select_filters: { name: { eq: 'abc' } } }
    const { templates } = await find(by, { ...filter, select_cols: ['id', 'name', 'nothing'] })
    expect(templates).toEqual([{ id: expect.any(Number), name: 'Abc', nothing: null }])
    expect((await find(by, { ...filter, select_cols: ['*'] })).templates).toEqual((await find(by, filter)).templates)
  })

  it.each([
    [{ select_filters: 'name' }, 'select_filters: must be an object'],
    [{ select_filters: '[]' }, 'select_filters: must be an object'],
    [{ select_filters: { name: { like: 'x' } } }, 'select_filters.name: unknown operator "like"'],
    [{ select_filters: { creator: { eq: 1 } } }, 'select_filters.creator: is not a filterable column; use id, '],
    [{ select_filters: { count_created: { gt: 'many' } } }, '"many" is not a number.'],
    [{ select_filters: { private: { gt: true } } }, 'does not apply to a boolean.'],
    [{ select_cols: '"name"' }, 'select_cols: must be a list'],
    [{ order_by: 'nothing' }, 'order_by: "nothing" is not a sortable column'],
    [{ order_by: [{ col: 7 }] }, 'order_by: {"col":7} is not a sortable column'],
    [{ order_by: ['id', 'name'] }, 'order_by: takes only one column.'],
    [{ limit: '0' }, 'limit: must be a whole number, at least 1.'],
    [{ limit: 'x' }, 'limit: must be a whole number'],
    [{ after_token: 'x' }, 'The cursor does not belong to this list. Use one that the list has returned.'],
  ])('of %j is refused', async (query, msg) => {
    const pairs = Object.entries(query).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const { status, body } = await app.rest(by, 'GET', `${v1}/template/?${new URLSearchParams(pairs)}`)
    expect([status, body]).toMatchObject([400, { error: 'invalid_args', msg: expect.stringContaining(msg) }])
  })

  it('refuses a token of another order', async () => {
    const { next_token: after } = await find(by, { order_by: 'name', limit: '1' }, v1)
    const query = new URLSearchParams({ after_token: after, order_by: 'id' })
    expect((await app.rest(by, 'GET', `${v1}/template/?${query}`)).status).toBe(400)
  })
})

it("lists an account's own templates with the permission instance_read", async () => {
  const by = await newKey()
  const first = await mustSave({ name: 'first' }, by)
  app.clock.advance(1_000)
  await mustSave({ name: 'second' }, by)
  app.clock.advance(1_000)
  await change({ hash_id: first.hash_id, desc: 'x' }, by)
  const { body: account } = await app.rest(by, 'GET', '/users/current')
  const reader = await app.newScopedKey(by, { api: { instance_read: {} } })
  const { body } = await app.rest(reader, 'GET', `/users/${account.id}/templates/`)
  expect([body.success, namesOf(body)]).toEqual([true, ['first', 'second']])
  const { status } = await app.rest(key, 'GET', `/users/${account.id}/templates`)
  expect(status).toBe(404)
})
