// The secrets of a template reach only rentals that start from it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Transaction, transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import type { TemplatePatch } from '../../../src/domain/templates/patch.ts'
import type { TemplateInput } from '../../../src/domain/templates/templates.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { loadTemplatesForLaunch } from '../../../src/services/templates/rent.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { dumpDatabase } from '../../support/database/dump.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let database: TestDatabase
let gateway: Gateway
let owner: Actor
let stranger: Actor

beforeAll(async () => {
  app = await startApp()
  database = await createDatabase()
  gateway = openGateway({ url: database.url, now: app.clock.now })
  owner = await gateway.newActor()
  stranger = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
  await app.close()
})

const [password, token, other] = ['Pass-8a61f0', 'Token-c2d94b', 'Other-77e1aa']
const registry = { host: 'ghcr.io', username: 'User-5f03', password }

describe('a database dump', () => {
  it('shows plain values, both as text and as bytes', async () => {
    await app.sql(`CREATE TABLE "Shelf" ("Kept bytes" bytea, list text[], note jsonb)`)
    await app.sql(
      `INSERT INTO "Shelf" VALUES (convert_to('byte-value', 'UTF8'), ARRAY['list-value'], '{"a": "json-value"}')`,
    )
    const dump = await dumpDatabase(app.database.url)
    await app.sql('DROP TABLE "Shelf"')
    for (const text of ['byte-value', Buffer.from('byte-value').toString('hex'), 'list-value', 'json-value']) {
      expect(dump).toContain(text)
    }
  })
})

describe('the secrets of a template', () => {
  it('are in no answer, log, event or table after any operation on the template', async () => {
    const templates = templatesOf(app)
    const key = await app.newKey()
    const foreign = await app.newKey()
    const input = {
      name: 'with secrets',
      idempotencyKey: 'secrets',
      registry,
      env: [{ name: 'TOKEN', value: token, secret: true }],
    }
    const first = await templates.mustCreate(key, input)
    const answers: unknown[] = [
      first,
      await templates.create(key, input),
      await templates.create(key, { ...input, idempotencyKey: null }),
      await templates.create(key, { ...input, idempotencyKey: null, public: true }),
      await templates.create(key, { ...input, name: '', idempotencyKey: 'refused', image: `-${password}` }),
      await templates.update(key, { ...input, id: first.id, idempotencyKey: 'changed', name: 'changed' }),
      await templates.update(foreign, { ...input, id: first.id, idempotencyKey: 'foreign' }),
      await templates.find(key, first),
      await templates.list(key),
    ]
    expect(first).toMatchObject({
      registry: { host: 'ghcr.io', username: 'User-5f03' },
      env: [{ name: 'TOKEN', value: null, secret: true }],
    })
    const events = await app.sql('SELECT * FROM events')
    const dump = await dumpDatabase(app.database.url)
    expect(dump).toContain('User-5f03')
    for (const place of [JSON.stringify(answers), JSON.stringify(app.logLines), JSON.stringify(events), dump]) {
      for (const secret of [password, token]) expect(place).not.toContain(secret)
    }
  })
})

describe('a rental', () => {
  const secrets = createSecrets('a secret of tests')
  const find = (actor: Actor, hash: string) =>
    transaction(gateway.database, async (tx: Transaction) => {
      const [template] = await loadTemplatesForLaunch(tx, secrets, actor, { hashId: hash })
      return template
    })
  const create = async (input: Partial<TemplateInput>) => {
    const whole = { name: 'rented', public: false, launch: { image: 'torch' }, ...input }
    return (await gateway.services.templates.create(owner, { input: whole }, { id: true, hashId: true })).template
  }
  const update = async (id: number, patch: TemplatePatch) =>
    (await gateway.services.templates.update(owner, { id, patch }, { id: true, hashId: true })).template
  const environment = { env: [{ name: 'TOKEN', value: token, secret: true as const }], ports: [], volumes: [] }
  const launch = {
    image: 'torch',
    mode: 'sshDirect' as const,
    registry,
    environment: { ...environment, hostname: 'box' },
  }

  it('starts from a template of its renter, including secrets', async () => {
    const { id, hashId } = await create({ launch })
    expect(await find(owner, hashId)).toMatchObject({ id, hash: hashId, launch })
    expect(await find(stranger, hashId)).toBeUndefined()
    expect(await find(owner, 'f'.repeat(32))).toBeUndefined()
  })

  it('starts from the latest secrets of a template that was changed', async () => {
    const { id, hashId } = await create({ name: 'renewed', launch })
    const renewed = { ...launch, registry: { ...registry, password: other } }
    const again = await update(id, { launch: renewed })
    expect(again.hashId).toBe(hashId)
    expect((await find(owner, hashId))?.launch.registry?.password).toBe(other)
  })

  it('starts from a public template of another account, but not by its old hash or after its deletion', async () => {
    const first = await create({ name: 'open', public: true })
    expect(await find(stranger, first.hashId)).toMatchObject({ id: first.id, launch: { image: 'torch' } })
    expect((await find(stranger, first.hashId))?.launch.registry).toBeUndefined()
    const second = await update(first.id, { launch: { image: 'ubuntu' } })
    expect(await find(owner, first.hashId)).toBeUndefined()
    expect(await find(stranger, second.hashId)).toMatchObject({ launch: { image: 'ubuntu' } })
    await gateway.services.templates.delete(owner, first.id)
    expect(await find(owner, second.hashId)).toBeUndefined()
  })
})
