// `secret change` seals everything anew, and leaves nothing that the old secret opens.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { loadContainerSpecs } from '../../../../src/services/reconciliation/container-spec.ts'
import { type ChangedSecret, changeSecret } from '../../../../src/services/sealing/change.ts'
import { createSecretCheck, sealedColumns } from '../../../../src/services/sealing/check.ts'
import { createSecrets } from '../../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { dumpDatabase } from '../../../support/database/dump.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { columnsOpenTo, openEverything, type SealedData, sealEverything } from '../../../support/database/sealed.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { rentalsOf } from '../../../support/instances/rentals.ts'
import { openReceiver, type Receiver, signersOf } from '../../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../../support/webhooks/webhooks.ts'

const [oldSecret, newSecret, lastSecret] = ['a secret of tests', 'a new secret of tests', 'the last secret of tests']
const allColumns = sealedColumns.map(names => names.join('.'))
const wrongSecret = 'The database was encrypted with another secret.'

let app: TestApp
/** Has the new secret. */
let gateway: TestApp
let database: Database
let receiver: Receiver
let data: SealedData
let before: Record<string, string[]>
let token: string

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  const url = urlAs('app', app.database.url)
  database = openDatabase({ url, poolSize: 2, onIdleError: () => {}, now: app.clock.now })
  receiver = await openReceiver()
  data = await sealEverything(app, rentalsOf(app), createSecrets(oldSecret), receiver.url)
  before = await openEverything(app, createSecrets(oldSecret))
  // Otherwise a column could be forgotten.
  expect(Object.entries(before).filter(([, values]) => values.length === 0)).toEqual([])
  token = await readToken(app)
})

afterAll(async () => {
  await receiver.close()
  await database.close()
  await app.close()
})

const change = (from: string, to: string, endDerived = false): Promise<ChangedSecret> =>
  changeSecret({ database, ownerUrl: urlAs('owner', app.database.url) }, { from, to, endDerived })
const startWith = (secret: string) => startApp({ sharedApp: app, secret, privateWebhooks: true })

/** The secrets of the database, as a gateway with this secret has them. */
async function secretsOf(secret: string) {
  const secrets = createSecrets(secret)
  await createSecretCheck({ database, secrets }).verify()
  return secrets
}

async function readToken(by: TestApp): Promise<string> {
  const query = `{ instance(id: "${data.instance}") { connection { notebookToken } } }`
  return (await by.graphql(data.key, query)).data.instance.connection.notebookToken
}
const statusOf = async (by: TestApp, key: string) =>
  (await by.rest(key, 'PUT', `/instances/${data.instance}/`, { state: 'running' })).status

/** A session ends a moment after its gateway. */
async function expectListeners(count: number): Promise<void> {
  const listeners = `datname = current_database() AND application_name = 'berth wake-ups'`
  const read = async () => (await app.sql(`SELECT FROM pg_stat_activity WHERE ${listeners}`)).length
  await expect.poll(read, { timeout: 30_000 }).toBe(count)
}

it.each([
  ['while a gateway is connected', 'A gateway is connected to the database', oldSecret, true],
  ['if the old secret is wrong', wrongSecret, 'not the secret of tests', false],
])('changes nothing %s', async (_, message, from, isConnected) => {
  const sealed = await dumpDatabase(app.database.url)
  const gateway = isConnected ? await startWith(oldSecret) : undefined
  gateway?.startWork()
  await expectListeners(isConnected ? 1 : 0)
  await expect(change(from, newSecret)).rejects.toThrow(message)
  await gateway?.close()
  await expectListeners(0)
  expect(await openEverything(app, createSecrets(oldSecret))).toEqual(before)
  if (!isConnected) expect(await dumpDatabase(app.database.url)).toBe(sealed)
})

it('changes nothing if it is killed between two tables, and can then be repeated', async () => {
  await app.sql(`
    CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$;
    CREATE TRIGGER wait_here BEFORE UPDATE ON results FOR EACH ROW EXECUTE FUNCTION wait_here()`)
  const sealed = await dumpDatabase(app.database.url)
  await withSession(app.database.url, async session => {
    await session.query('SELECT pg_advisory_lock(42)')
    const killed = expect(change(oldSecret, newSecret)).rejects.toThrow('terminat')
    await waitForLockWaiters(session)
    await session.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'berth secret change'`,
    )
    await killed
  })
  await app.sql('DROP TRIGGER wait_here ON results; DROP FUNCTION wait_here')
  expect(await dumpDatabase(app.database.url)).toBe(sealed)
})

describe('a changed secret', () => {
  it('opens what the old one opened, which opens nothing anymore', async () => {
    const resealed = Object.values(before).flat().length
    expect(await change(oldSecret, newSecret)).toEqual({ changed: true, resealed, unreadable: 0 })
    expect(await openEverything(app, createSecrets(newSecret))).toEqual(before)
    expect(await columnsOpenTo(app, createSecrets(oldSecret))).toEqual([])
    expect(await change(oldSecret, newSecret)).toEqual({ changed: false, resealed: 0, unreadable: 0 })
  })

  it('is the only one with which a gateway starts', async () => {
    await expect(startWith(oldSecret)).rejects.toThrow(wrongSecret)
    gateway = await startWith(newSecret)
  })

  it.each(sealedColumns)('lets no gateway with the old one write %s.%s', async (table, column) => {
    const sealed = createSecrets(oldSecret).seal('late')
    await expect(app.sql(`UPDATE ${table} SET ${column} = $1`, [sealed])).rejects.toMatchObject({ code: '23514' })
  })

  it('makes a gateway stop that runs with the old one', async () => {
    let stops = 0
    // A gateway whose connection for wake-ups was lost while the secret was changed.
    const onChangedSecret = () => {
      stops += 1
    }
    const late = await startApp({ sharedApp: app, secret: newSecret, onChangedSecret })
    await change(newSecret, lastSecret)
    late.startWork()
    await expect.poll(() => stops, { timeout: 30_000 }).toBe(1)
    await late.close()
    await expectListeners(0)
    await change(lastSecret, newSecret)
  })

  it('keeps what was derived and given away: keys of instances, tokens of notebooks, and answers', async () => {
    expect(await readToken(gateway)).toBe(token)
    expect(await statusOf(gateway, data.instanceKey)).toBe(200)
    const again = await data.rentAgain(gateway)
    expect(again).toMatchObject({ replayed: true, instanceApiKey: data.instanceKey })
    const specs = await loadContainerSpecs(database, await secretsOf(newSecret), [BigInt(data.instance)])
    const spec = specs.get(BigInt(data.instance))?.()
    expect(spec).toMatchObject({ apiKey: data.instanceKey, registry: { password: 'pass' } })
    expect(Object.fromEntries(spec?.launch.env.map(({ name, value }) => [name, value]) ?? [])).toMatchObject({
      ...{ HF_TOKEN: 'hush', S: 'a secret of the template', JUPYTER_TOKEN: token },
    })
  })

  it('signs webhooks as before, and sends them to the same URL', async () => {
    await webhooksOf(gateway).test(data.key, data.webhook)
    await gateway.runUntilIdle()
    const [request] = receiver.received
    if (!request) throw new Error('Nothing was received.')
    expect(signersOf(request, data.webhookSecrets, app.clock.now())).toEqual(data.webhookSecrets)
  })

  it('seals what comes later', async () => {
    const mutation =
      'mutation { updateSecretVariables(input: { variables: [{ name: "B", value: "new" }] }) { __typename } }'
    expect((await gateway.graphql(data.key, mutation)).data.updateSecretVariables.__typename).toMatch(/Success$/)
    expect((await gateway.rest(data.key, 'PUT', `/instances/request_logs/${data.instance}/`, {})).status).toBe(200)
    await openEverything(app, createSecrets(newSecret))
  })
})

describe('a secret that has leaked', () => {
  it('ends what was derived from it, and nothing else', async () => {
    await gateway.close()
    const sealed = await openEverything(app, createSecrets(newSecret))
    expect(await change(newSecret, lastSecret, true)).toMatchObject({ changed: true, unreadable: 0 })
    expect(await openEverything(app, createSecrets(lastSecret))).toEqual(sealed)
    const late = await startWith(lastSecret)
    expect(await statusOf(late, data.instanceKey)).toBe(401)
    expect(await readToken(late)).not.toBe(token)
    // A request that repeats an idempotency key is refused: it does not rent once more.
    expect(await data.rentAgain(late)).toEqual({})
    expect(await app.sql('SELECT id FROM instances')).toEqual([{ id: String(data.instance) }])
    await late.close()
    // Nobody can tell from a secret of before what is derived now.
    const { digestKey } = await secretsOf(lastSecret)
    for (const secret of [oldSecret, newSecret, lastSecret])
      expect(createSecrets(secret).digestKey.equals(digestKey)).toBe(false)
  })

  it('ends it also when the secret was changed before', async () => {
    const { digestKey } = await secretsOf(lastSecret)
    expect(await change(newSecret, lastSecret, true)).toMatchObject({ changed: true, unreadable: 0 })
    expect((await secretsOf(lastSecret)).digestKey.equals(digestKey)).toBe(false)
    expect(await columnsOpenTo(app, createSecrets(lastSecret))).toEqual(allColumns)
  })
})

it('keeps values that cannot be read, and counts them', async () => {
  const { keyId } = createSecrets(lastSecret)
  const damaged = Buffer.concat([keyId, Buffer.from('damaged')])
  await app.sql("UPDATE secret_variables SET value = $1 WHERE name = 'B'", [damaged])
  expect(await change(lastSecret, oldSecret)).toMatchObject({ changed: true, unreadable: 1 })
  const [row] = (await app.sql("SELECT value FROM secret_variables WHERE name = 'B'")) as { value: Buffer }[]
  expect(row?.value.subarray(-damaged.length)).toEqual(damaged)
  expect(await columnsOpenTo(app, createSecrets(oldSecret))).toEqual(allColumns)
})
