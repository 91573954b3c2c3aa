import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
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

type Row = Record<string, unknown>
const queryRows = async (text: string) => (await app.sql(text)) as Row[]
type Verb = 'Start' | 'Stop' | 'Update' | 'Destroy'
// biome-ignore lint/suspicious/noExplicitAny: success or refusal
async function command(verb: Verb, input: object, by = key): Promise<any> {
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: ${verb}InstancesInput!) { answer: ${verb.toLowerCase()}Instances(input: $input) {
      ... on ${verb}InstancesSuccess { matchedCount succeededCount failedCount items { index instanceId outcome instance { label } } }
      ... on Error { code message } ... on InvalidInputError { issues { path message } } } }`,
    { input },
  )
  return data?.answer ?? errors?.[0]?.extensions
}
const idsOf = ({ items }: { items: { instanceId: string }[] }) =>
  items.map(({ instanceId }) => Number(instanceId.slice(4)))
const startsWith = (prefix: string, more: object = {}) => ({ filter: { label: { startsWith: prefix }, ...more } })

/** Copies the instance, with its machine and its meters, because a thousand rentals take minutes. */
async function copyInstance(id: number, count: number, label: string): Promise<number[]> {
  const copies = await queryRows(`
    WITH machine AS (
      INSERT INTO machines SELECT (jsonb_populate_record(m, jsonb_build_object('id', nextval('machines_id_seq')))).*
      FROM machines m, generate_series(1, ${count}) WHERE m.id = (SELECT machine_id FROM instances WHERE id = ${id}) RETURNING id
    ), gpu AS (
      INSERT INTO gpus (machine_id, index) SELECT id, 0 FROM machine
    ), offer AS (
      INSERT INTO offers SELECT (jsonb_populate_record(o, jsonb_build_object('id', nextval('offers_id_seq'), 'machine_id', machine.id))).*
      FROM offers o, machine WHERE o.id = (SELECT offer_id FROM instances WHERE id = ${id}) RETURNING id, machine_id
    )
    SELECT id, machine_id FROM offer ORDER BY id`)
  const made = await queryRows(`
    INSERT INTO instances SELECT (jsonb_populate_record(i, jsonb_build_object('id', nextval('instances_id_seq'),
      'machine_id', c.machine_id, 'offer_id', c.id, 'label', '${label}'))).*
    FROM instances i, unnest(ARRAY[${copies.map(copy => copy['id'])}]::bigint[], ARRAY[${copies.map(copy => copy['machine_id'])}]::int[])
      AS c(id, machine_id) WHERE i.id = ${id} RETURNING id`)
  await app.sql(`
    INSERT INTO meters SELECT (jsonb_populate_record(m, jsonb_build_object('id', nextval('meters_id_seq'), 'instance_id', i.id))).*
    FROM meters m, instances i WHERE m.instance_id = ${id} AND i.label = '${label}' AND i.id <> ${id}`)
  return made.map(row => Number(row['id']))
}

describe('a bulk command by filter', () => {
  it('changes exactly the instances that match, in the order of creation', async () => {
    const ids = [await rentals.rent(key, { label: 'a-1' }), await rentals.rent(key, { label: 'A-2' })]
    const other = await rentals.rent(key, { label: 'b-a-1' })
    const foreign = await rentals.rent(await app.newKey(null, someCredit), { label: 'a-1' })
    const dry = await command('Stop', { target: startsWith('a-'), dryRun: true })
    expect([idsOf(dry), dry.matchedCount, dry.succeededCount]).toEqual([ids, 2, 2])
    const stopped = await command('Stop', { target: startsWith('a-'), expectedCount: 2 })
    expect(stopped).toMatchObject({ matchedCount: 2, items: [{ outcome: 'APPLIED' }, { outcome: 'APPLIED' }] })
    const states = await queryRows('SELECT id, target_state FROM instances ORDER BY id')
    expect(states.filter(state => state['target_state'] === 'stopped').map(state => Number(state['id']))).toEqual(ids)
    expect(states.map(state => Number(state['id']))).toEqual([...ids, other, foreign])
    expect(await command('Update', { target: startsWith('a-'), label: null })).toMatchObject({
      items: [{ instance: { label: null } }, { instance: { label: null } }],
    })
  })

  it('that matches nothing succeeds without items', async () => {
    const none = { matchedCount: 0, succeededCount: 0, failedCount: 0, items: [] }
    expect(await command('Start', { target: startsWith('none') })).toEqual(none)
    expect(await command('Destroy', { target: startsWith('none'), expectedCount: 0 })).toEqual(none)
  })

  it.each([
    ['no field', {}],
    ['null fields', { ids: null, label: null, status: null }],
    ['an empty condition', { label: {} }],
    ['a condition of nulls', { label: { eq: null }, machineId: { in: null } }],
    ['a text that each label contains', { label: { contains: '', startsWith: '' } }],
    ['an empty list of exceptions', { machineId: { nin: [] } }],
  ])('is refused with %s', async (_content, filter) => {
    expect(await command('Stop', { target: { filter } })).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'target.filter' }],
    })
  })

  it('refuses to destroy without expectedCount, and with another count than matches', async () => {
    const ids = [await rentals.rent(key, { label: 'gone-1' }), await rentals.rent(key, { label: 'gone-2' })]
    const target = startsWith('gone-')
    const refused = { code: 'INVALID_INPUT', issues: [{ path: 'expectedCount' }] }
    expect(await command('Destroy', { target })).toMatchObject(refused)
    for (const expectedCount of [-1, 0, 1, 3])
      expect(await command('Destroy', { target, expectedCount })).toMatchObject(refused)
    expect((await command('Stop', { target, expectedCount: 1 })).issues[0].message).toContain('matches 2 instances')
    expect(idsOf(await command('Destroy', { target, dryRun: true }))).toEqual(ids)
    for (const id of ids) expect(await rentals.read(key, id)).toMatchObject({ intended_status: 'running' })
    const destroyed = await command('Destroy', { target, expectedCount: 2 })
    expect([idsOf(destroyed), destroyed.succeededCount]).toEqual([ids, 2])
  })

  it('compares a match again when another transaction changes it meanwhile', async () => {
    const ids = [await rentals.rent(key, { label: 'race-1' }), await rentals.rent(key, { label: 'race-2' })]
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`UPDATE instances SET label = 'kept' WHERE id = ${ids[0]}`)
      const stopping = command('Stop', { target: startsWith('race-') })
      await waitForLockWaiters(session)
      await session.query('COMMIT')
      expect(idsOf(await stopping)).toEqual([ids[1]])
      expect(await rentals.read(key, ids[0] as number)).toMatchObject({ intended_status: 'running' })
    })
  })

  it('is refused for a key that may change only some ids, unless the filter names them', async () => {
    const ids = [await rentals.rent(key, { label: 'scoped-1' }), await rentals.rent(key, { label: 'scoped-2' })]
    const constraints = { id: { eq: ids[0] as number } }
    const scoped = await app.newScopedKey(key, { api: { instance_write: { 'instances.update': { constraints } } } })
    expect((await command('Stop', { target: startsWith('scoped-') }, scoped)).code).toBe('FORBIDDEN')
    const both = { target: startsWith('scoped-', { ids: ids.map(String) }) }
    expect((await command('Stop', both, scoped)).code).toBe('FORBIDDEN')
    const own = { target: startsWith('scoped-', { ids: [String(ids[0])] }) }
    expect(idsOf(await command('Stop', own, scoped))).toEqual([ids[0]])
  })

  it('needs a label that is not empty, and a change', async () => {
    const target = { ids: ['1'] }
    expect((await command('Update', { target, label: '' })).issues).toMatchObject([{ path: 'label' }])
    expect(await command('Update', { target })).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'label', message: 'must be given, since nothing else changes.' }],
    })
  })
})

describe('a bulk command on many machines', () => {
  it('runs as many statements for 1,000 instances as for 1 and 64, and refuses 1,001', async () => {
    const counts: number[][] = []
    for (const size of [1, 64, 1_000]) {
      const owner = await app.newKey(null, { creditNanos: 1_000_000_000_000_000n })
      await app.sql('UPDATE accounts SET max_loading = 5000, max_instances = 5000')
      const label = `fleet-${size}`
      const first = await rentals.rent(owner, { label, target_state: 'stopped' })
      if (size > 1) await copyInstance(first, size - 1, label)
      const target = startsWith(label)
      const statements: number[] = []
      for (const verb of ['Start', 'Stop', 'Destroy'] as const) {
        const ran = await captureQueries(async () => {
          const input = { target, ...(verb === 'Destroy' && { expectedCount: size }) }
          expect(await command(verb, input, owner)).toMatchObject({ matchedCount: size, succeededCount: size })
        })
        statements.push(ran.length)
      }
      counts.push(statements)
      if (size < 1_000) continue
      const more = await rentals.rent(owner, { label: 'crowd', target_state: 'stopped' })
      await copyInstance(more, 1_000, 'crowd')
      const { issues } = await command('Stop', { target: startsWith('crowd') }, owner)
      expect(issues).toMatchObject([
        { path: 'target.filter', message: expect.stringContaining('matches 1001 instances') },
      ])
    }
    expect(counts[2]).toEqual(counts[1])
    // The market of a single machine may have no offer to change, or none to add.
    const more = counts[2]?.map((count, index) => count - (counts[0]?.[index] ?? 0)) ?? []
    expect(Math.max(...more)).toBeLessThanOrEqual(1)
  }, 120_000)
})
