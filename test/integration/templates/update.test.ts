import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { jsonb, text } from '../../../src/database/row-types.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { readStoredSecrets, templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let templates: ReturnType<typeof templatesOf>
let key: string

beforeAll(async () => {
  app = await startApp()
  templates = templatesOf(app)
  key = await app.newKey()
})

afterAll(() => app.close())

const plainId = (id: string) => Number(id.slice('tpl_'.length))
const secretsOf = async (id: string) => await readStoredSecrets(app, plainId(id))
const token = { name: 'TOKEN', value: 'hidden', secret: true }
const registry = { host: 'ghcr.io', username: 'me', password: 'pass' }
const whole = {
  description: 'Trains',
  readme: '# Training',
  mode: { jupyter: { direct: true, lab: true, directory: '/work' } },
  env: [{ name: 'A', value: '1' }, token],
  ports: [{ containerPort: 80 }],
  hostname: 'box',
  onStart: 'go',
  diskGb: 20,
  registry,
  volumeHint: { mountPath: '/data', sizeGb: 10 },
}
let count = 0
const nextCount = () => {
  count += 1
  return count
}
const create = async (input: object = whole) =>
  await templates.mustCreate(key, { name: `template ${nextCount()}`, ...input })

describe('a change of a template', () => {
  it('keeps the secrets when it only renames', async () => {
    const before = await create()
    const after = await templates.mustUpdate(key, { id: before.id, name: 'renamed' })
    expect(after).toEqual({ ...before, name: 'renamed', hashId: after.hashId })
    expect(after.hashId).not.toBe(before.hashId)
    expect(await secretsOf(before.id)).toEqual({ registry, env: { TOKEN: 'hidden' } })
  })

  it.each([
    ['description', null],
    ['readme', null],
    ['mode', null],
    ['env', []],
    ['ports', []],
    ['hostname', null],
    ['onStart', null],
    ['diskGb', null],
    ['registry', null],
    ['volumeHint', null],
  ])('removes %s by null, and keeps all others', async (field, empty) => {
    const before = await create()
    const after = await templates.mustUpdate(key, { id: before.id, [field]: null })
    expect(after).toEqual({ ...before, [field]: empty, hashId: after.hashId })
    expect(after.hashId).not.toBe(before.hashId)
  })

  it.each([
    ['name', 'cannot be removed. Leave it out to keep it.', null],
    ['public', 'cannot be removed. Leave it out to keep it.', null],
    ['image', 'cannot be removed. Leave it out to keep it.', null],
    ['name', 'must not be blank.', ''],
    ['name', 'must not be blank.', ' \n'],
    ['description', 'must not be empty. Send null to remove it.', ''],
    ['readme', 'must not be empty. Send null to remove it.', ''],
    ['hostname', 'must not be empty. Send null to remove it.', ''],
    ['onStart', 'must not be empty. Send null to remove it.', ''],
  ])('refuses %s when it %s', async (field, message, value) => {
    const before = await create()
    const refused = await templates.update(key, { id: before.id, [field]: value })
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: field, message }] })
    expect((await templates.find(key, before))[1]).toEqual(before)
  })

  it('replaces the mode whole', async () => {
    const { id } = await create()
    const plain = { ssh: null, jupyter: { direct: false, lab: false, directory: null }, args: null }
    expect(await templates.mustUpdate(key, { id, mode: { jupyter: {} } })).toMatchObject({ mode: plain })
    const args = { args: { args: ['serve', 'a b'] } }
    const after = await templates.mustUpdate(key, { id, mode: args })
    expect(after).toMatchObject({ mode: { ssh: null, jupyter: null, ...args } })
    expect(await templates.mustUpdate(key, { id, diskGb: 30 })).toMatchObject({ mode: args })
  })

  it('keeps a secret without a value and replaces one with a value, and removes those that the list leaves out', async () => {
    const { id } = await create({ env: [token, { ...token, name: 'OTHER', value: 'too' }] })
    const kept = [
      { name: 'TOKEN', secret: true },
      { name: 'B', value: '' },
    ]
    const after = await templates.mustUpdate(key, { id, env: kept })
    expect(after['env']).toMatchObject([
      { name: 'TOKEN', value: null, secret: true },
      { name: 'B', value: '', secret: false },
    ])
    expect((await secretsOf(id)).env).toEqual({ TOKEN: 'hidden' })
    await templates.mustUpdate(key, { id, env: [{ ...token, value: 'new' }] })
    expect((await secretsOf(id)).env).toEqual({ TOKEN: 'new' })
  })

  it.each([
    ['a secret that is not stored', { name: 'NEW', secret: true }, 'must have a value, because it is secret.'],
    [
      'a secret whose name is a plain variable',
      { name: 'A', secret: true },
      'must have a value, because it is secret.',
    ],
    ['a plain variable', { name: 'A', value: null }, 'must have a value, because it is not secret.'],
    [
      'an empty secret',
      { name: 'TOKEN', value: '', secret: true },
      'must not be empty, because it is secret. Leave out the value to keep the stored one.',
    ],
  ])('refuses %s without a value', async (_which, variable, message) => {
    const { id } = await create()
    const issues = [{ path: `env.${variable.name}`, message }]
    expect(await templates.update(key, { id, env: [variable] })).toMatchObject({ code: 'INVALID_INPUT', issues })
    expect((await secretsOf(id)).env).toEqual({ TOKEN: 'hidden' })
  })

  it('keeps the password of the same host and user, and never sends it to another host', async () => {
    const { id } = await create()
    const { password: _, ...login } = registry
    expect(await templates.mustUpdate(key, { id, registry: login })).toMatchObject({ registry: login })
    expect((await secretsOf(id)).registry).toEqual(registry)
    for (const other of [
      { ...login, host: 'evil.example' },
      { ...login, username: 'you' },
      { ...login, password: '' },
    ]) {
      const refused = await templates.update(key, { id, registry: other })
      expect(refused).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'registry' }] })
    }
    expect((await secretsOf(id)).registry).toEqual(registry)
  })

  it('is refused in public while the template has secrets, and succeeds with their removal', async () => {
    const { id } = await create()
    const refused = await templates.update(key, { id, public: true })
    expect(refused.issues.map(({ path }: { path: string }) => path)).toEqual(['registry', 'env.TOKEN'])
    const opened = await templates.mustUpdate(key, { id, public: true, registry: null, env: null })
    expect(opened).toMatchObject({ public: true, registry: null, env: [] })
    expect(await secretsOf(id)).toEqual({ registry: null, env: null })
  })

  it('with an idempotency key is done once', async () => {
    const { id } = await create()
    const input = { id, diskGb: 30, idempotencyKey: 'to 30' }
    const first = await templates.update(key, input)
    await templates.mustUpdate(key, { id, diskGb: 40 })
    const again = await templates.update(key, input)
    expect([first.replayed, again.replayed]).toEqual([false, true])
    expect(again.template).toMatchObject({ diskGb: 40 })
    expect(await templates.update(key, { ...input, diskGb: null })).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  it('is refused if the template no longer has the expected hash', async () => {
    const read = await create()
    const { id, hashId } = read
    const theirs = await templates.mustUpdate(key, { id, expectedHashId: hashId, onStart: 'theirs' })
    const refused = await templates.update(key, { id, expectedHashId: hashId, onStart: 'mine' })
    const message = `The template has changed: its hash is now ${theirs.hashId}. Read it again, then repeat the change.`
    expect(refused).toMatchObject({ code: 'CONFLICT', conflictId: id, message })
    expect((await templates.find(key, theirs))[1]).toEqual(theirs)
    await templates.mustUpdate(key, { id, expectedHashId: theirs.hashId, onStart: 'mine' })
  })
})

describe('two gateways that change one template at once', () => {
  let database: TestDatabase
  let gateways: Gateway[]
  let owner: Actor

  beforeAll(async () => {
    database = await createDatabase()
    gateways = [1, 2].map(() => openGateway({ url: database.url, now: app.clock.now }))
    owner = await (gateways[0] as Gateway).newActor()
  })

  afterAll(async () => {
    for (const gateway of gateways) await gateway.close()
    await database.drop()
  })

  const fresh = async () => {
    const input = { name: `raced ${nextCount()}`, public: false, launch: { image: 'torch' } }
    return (await (gateways[0] as Gateway).services.templates.create(owner, { input }, { id: true, hashId: true }))
      .template
  }

  it('both change it where they name different fields, and each change is an event', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await fresh()
      const patches = [{ launch: { onStart: 'go' } }, { launch: { diskGb: 30 } }]
      await Promise.all(
        gateways.map((gateway, index) =>
          gateway.services.templates.update(
            owner,
            { id, patch: patches[index] as (typeof patches)[number] },
            { id: true },
          ),
        ),
      )
      const { database: db } = gateways[0] as Gateway
      const settings = Prisma.sql`
        SELECT settings ->> 'onStart' AS on_start, settings -> 'diskGb' AS disk_gb FROM templates WHERE id = ${id}`
      expect(await db.query(settings, { onStart: text, diskGb: jsonb<number>() })).toEqual([
        { onStart: 'go', diskGb: 30 },
      ])
      const [first, second, ...others] = await db.query(
        Prisma.sql`
          SELECT before, after FROM events WHERE kind = 'TEMPLATE_UPDATED' AND (after ->> 'templateId')::int = ${id}
          ORDER BY id`,
        { before: jsonb<object>(), after: jsonb<object>() },
      )
      expect([second?.before, others]).toEqual([first?.after, []])
    }
  })

  it('change it one at a time with the same expected hash: the other is refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, hashId } = await fresh()
      const answers = await Promise.allSettled(
        gateways.map((gateway, index) =>
          gateway.services.templates.update(
            owner,
            {
              ...{ id, expectedHashId: hashId },
              patch: { launch: { onStart: `go ${index}` } },
            },
            { id: true },
          ),
        ),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      const refused = answers.find(answer => answer.status === 'rejected')
      expect(refused?.reason).toMatchObject({ code: 'CONFLICT', details: { subject: { type: 'Template', id } } })
    }
  })
})

describe('a template by name', () => {
  const find = async (name: string, by = key) => {
    const query = 'query ($name: String!) { template(by: { name: $name }) { id } }'
    return await app.graphql(by, query, { name })
  }

  it('is the own template with exactly this name', async () => {
    const { id } = await create({ name: 'By name' })
    expect((await find('By name')).data).toEqual({ template: { id } })
    const stranger = await app.newKey()
    await templates.mustCreate(stranger, { name: 'Not mine', public: true })
    for (const name of ['by name', 'By', 'Not mine', '', 'a\0'])
      expect((await find(name)).data).toEqual({ template: null })
    expect((await find('By name', stranger)).data).toEqual({ template: null })
    await templates.remove(key, id)
    expect((await find('By name')).data).toEqual({ template: null })
  })

  it('is refused if several own templates have the name', async () => {
    for (const image of ['one', 'two']) await create({ name: 'ambiguous', image })
    const { errors } = await find('ambiguous')
    expect(errors).toMatchObject([
      {
        extensions: {
          code: 'BAD_USER_INPUT',
          issues: [
            {
              path: 'by.name',
              message: 'is the name of several templates of your account. Name the template by its ID or its hash.',
            },
          ],
        },
      },
    ])
  })
})
