// The connection to the database is lost during a commit. The outcome is unknown, so no client may retry automatically.

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { routes } from '../../../src/rest/routes.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  await app.sql(`
    CREATE TABLE cursed (offer_id bigint);
    GRANT SELECT ON cursed TO PUBLIC;
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_terminate_backend(pg_backend_pid()) WHERE EXISTS (SELECT FROM cursed WHERE offer_id = NEW.offer_id);
      RETURN NULL;
    END $$;
    CREATE FUNCTION lose_all() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_terminate_backend(pg_backend_pid());
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON instances DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose()`)
})

afterAll(() => app.close())

async function newMachineId(): Promise<number> {
  const [offer] = await app.sql(`SELECT machine_id AS id FROM offers WHERE id = ${await rentals.newOffer()}`)
  return (offer as { id: number }).id
}

/** An offer whose rental loses the connection to the database during its commit. */
async function offerLosingDatabase(): Promise<number> {
  const offer = await rentals.newOffer()
  await app.sql(`INSERT INTO cursed VALUES (${offer})`)
  return offer
}

const uncertainOutcome = {
  status: 409,
  body: {
    success: false,
    error: 'outcome_unknown',
    msg: expect.stringMatching(/may or may not have been executed\. Check/),
  },
}

it.each(['PUT', 'POST'])('answers outcome_unknown to a creation by %s', async method => {
  const answer = await app.rest(key, method, `/asks/${await offerLosingDatabase()}/`, { image: 'ubuntu' })
  expect(answer).toMatchObject(uncertainOutcome)
  expect(answer.headers.get('retry-after')).toBeNull()
})

it('advises repeating a creation with its idempotency key, and then rents once', async () => {
  const offer = await offerLosingDatabase()
  const headers = { 'idempotency-key': randomUUID() }
  const rent = async () => await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu' }, headers)
  expect((await rent()).body.msg).toContain('Repeat the request with the same Idempotency-Key')
  await app.sql('DELETE FROM cursed')
  const again = await rent()
  expect(again.status).toBe(200)
  expect((await rent()).body).toEqual(again.body)
})

it('answers outcome_unknown to a launch', async () => {
  const offer = await offerLosingDatabase()
  const answer = await app.rest(key, 'PUT', '/launch_instance/', { image: 'ubuntu', q: { id: { eq: offer } } })
  expect(answer).toMatchObject(uncertainOutcome)
})

it('reports for each of many offers whether it was rented, is uncertain or was not tried', async () => {
  const ids = [await rentals.newOffer(), await offerLosingDatabase(), await rentals.newOffer()]
  const { status, body } = await app.rest(key, 'POST', '/asks/bulk/', { image: 'ubuntu', ids })
  expect([status, body.results]).toMatchObject([
    200,
    [
      { ask_id: ids[0], success: true, new_contract: expect.any(Number) },
      { ask_id: ids[1], success: false, error: 'unavailable', msg: expect.stringContaining('may have been rented') },
      { ask_id: ids[2], success: false, error: 'unavailable', msg: expect.stringContaining('not tried') },
    ],
  ])
})

it('answers outcome_unknown to a bulk rental if the first offer is uncertain', async () => {
  const ids = [await offerLosingDatabase(), await rentals.newOffer()]
  expect(await app.rest(key, 'POST', '/asks/bulk/', { image: 'ubuntu', ids })).toMatchObject(uncertainOutcome)
})

it.each([
  ['volume', 'volumes', 'PUT', '/volumes/', async () => ({ id: await newMachineId() })],
  ['key', 'api_keys', 'POST', '/auth/apikeys/', async () => ({ name: 'second' })],
])('answers outcome_unknown to the creation of a %s', async (_, table, method, path, bodyOf) => {
  const body = await bodyOf()
  await app.sql(`
    CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose_all()`)
  const answer = await app.rest(key, method, path, body)
  await app.sql(`DROP TRIGGER lose ON ${table}`)
  expect(answer).toMatchObject(uncertainOutcome)
})

it.each<[string, string, object]>([
  ['reboot', 'restart', {}],
  ['recycle', 'restart', {}],
  ['update_template', 'launch', { image: 'alpine', recycle: true }],
])('answers outcome_unknown to %s', async (verb, column, body) => {
  const id = await rentals.rentToStatus(key, 'running')
  await app.sql(`
    CREATE CONSTRAINT TRIGGER lose_restart AFTER UPDATE OF ${column} ON instances DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose_all()`)
  const answer = await app.rest(key, 'PUT', `/instances/${verb}/${id}/`, body)
  await app.sql('DROP TRIGGER lose_restart ON instances')
  expect(answer).toMatchObject(uncertainOutcome)
  expect(answer.headers.get('retry-after')).toBeNull()
})

it('answers outcome_unknown to the reset of a key', async () => {
  const by = await app.newKey()
  await app.rest(by, 'GET', '/users/current/')
  await app.sql(`
    CREATE CONSTRAINT TRIGGER lose AFTER UPDATE OF secret_hash ON api_keys DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose_all()`)
  const answer = await app.rest(by, 'PUT', '/commands/reset_apikey/', {})
  await app.sql('DROP TRIGGER lose ON api_keys')
  expect(answer).toMatchObject(uncertainOutcome)
})

it('answers 503 with Retry-After to an idempotent update', async () => {
  const id = await rentals.rent(key)
  await app.sql(`
    CREATE CONSTRAINT TRIGGER lose_label AFTER UPDATE OF label ON instances DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION lose_all()`)
  const { status, headers } = await app.rest(key, 'PUT', `/instances/${id}/`, { label: 'x' })
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
})

/** The routes that are safe to repeat after an uncertain outcome, by reason. */
const repeatableRoutes = new Map(
  Object.entries({
    'only reads': ['searchOffers', 'searchAsks', 'searchVolumeOffers'],
    'only creates another link': ['requestLogs'],
    'sets a state, which the second request does not change': [
      ...['updateInstances', 'updateInstance', 'startInstance', 'stopInstance', 'changeBid'],
      ...['addSecrets', 'updateSecret', 'replaceSshKey'],
    ],
    'answers already_associated, which clients treat as success': ['addInstanceSshKey'],
    'removes something, which the second request does not find': [
      ...['destroyInstance', 'destroyInstances', 'removeInstanceSshKey', 'deleteSshKey', 'revokeApiKey'],
      ...['deleteSecret', 'deleteTemplate', 'deleteVolume'],
    ],
  }).flatMap(([reason, operations]) => operations.map(operation => [operation, reason] as const)),
)

it.each(routes.filter(({ method }) => method !== 'GET').map(route => [route.operationId, route] as const))(
  'lists %s as repeatable exactly if it is idempotent',
  (operation, { notIdempotent = false, failures = [] }) => {
    const isImplemented = failures.every(({ error }) => error !== 'not_implemented')
    expect(isImplemented && !notIdempotent).toBe(repeatableRoutes.has(operation))
  },
)

it('lists only existing routes as repeatable', () => {
  const known = routes.map(({ operationId }) => operationId)
  expect([...repeatableRoutes.keys()].filter(operation => !known.includes(operation))).toEqual([])
})
