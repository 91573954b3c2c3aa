// REST requests that search and rent at once, or rent many offers.

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { listMachines, type MachineListing } from '../../../support/factories.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Each test has its own market: a country without earlier listings. */
let country = ''
let tests = 0
beforeEach(() => {
  tests += 1
  country = String.fromCharCode(65 + (tests % 26), 65 + Math.floor(tests / 26))
})

const priced = (dollars: number) => ({ gpuNanos: BigInt(Math.round(dollars * 1e9)) })

/** Lists machines of one GPU at these prices in dollars, and returns the ids of their offers. */
const market = (...prices: number[]) => marketOf(...prices.map(priced))

async function marketOf(...machines: MachineListing['machine'][]): Promise<number[]> {
  const listed = machines.map(machine => ({ machine: { country, numGpus: 1, ...machine } }))
  await listMachines(app.operations, listed)
  const rows = await app.sql(
    `SELECT id FROM offers WHERE country = '${country}' AND num_gpus = 1 ORDER BY machine_id, id`,
  )
  return rows.map(row => Number((row as { id: string }).id))
}

const offerOf = async (instance: number) => {
  const [row] = await app.sql(`SELECT offer_id FROM instances WHERE id = ${instance}`)
  return Number((row as { offer_id: string }).offer_id)
}
const instancesOf = async () =>
  Number(((await app.sql('SELECT count(*) FROM instances')) as [{ count: string }])[0].count)

describe('a launch', () => {
  const launch = async (q: unknown, body: object = {}, headers = {}) =>
    await app.rest(key, 'PUT', '/launch_instance/', { image: 'ubuntu', q, ...body }, headers)
  const here = (more: object = {}) => ({ geolocation: { in: [country] }, order: [['dph_total', 'asc']], ...more })

  it('rents the best offer of the search, with the body of the command-line tool', async () => {
    const [, cheap] = await market(0.4, 0.2, 0.3)
    const { status, body } = await app.rest(key, 'PUT', '/launch_instance', {
      ...{ client_id: 'me', gpu_name: 'RTX_4090', num_gpus: '1', region: country, image: 'ubuntu:22.04', disk: 16 },
      q: {
        ...{ verified: { eq: true }, external: { eq: false }, rentable: { eq: true }, rented: { eq: false } },
        ...{ num_gpus: { eq: '1' }, geolocation: { in: [country] }, disk_space: { gte: '16' }, type: 'on-demand' },
        ...{ order: [['dph_total', 'asc']], limit: 3, allocated_storage: 16 },
      },
      ...{ env: { A: '1', '-p 8000:8000': '1' }, label: 'mine', extra: null, onstart: null, image_login: null },
      ...{ python_utf8: false, lang_utf8: false, use_jupyter_lab: false, jupyter_dir: null, force: false },
      ...{ cancel_unavail: false, template_hash_id: null, user: null, runtype: 'ssh_direc ssh_proxy' },
    })
    expect([status, body]).toEqual([
      200,
      { success: true, new_contract: expect.any(Number), instance_api_key: expect.any(String) },
    ])
    expect(await offerOf(body.new_contract)).toBe(cheap)
    expect(await rentals.read(key, body.new_contract)).toMatchObject({
      ...{ label: 'mine', image_runtype: 'ssh_direct', disk_space: 16, is_bid: false },
      extra_env: expect.arrayContaining([
        ['A', '1'],
        ['-p 8000:8000', '1'],
      ]),
    })
  })

  it('accepts the search as a JSON string, without a limit or an order', async () => {
    const [offer] = await market(0.4)
    const { body } = await launch(JSON.stringify({ geolocation: { in: [country] } }))
    expect(await offerOf(body.new_contract)).toBe(offer)
  })

  it.each([[{ gpu_name: {} }], [{ gpu_name: { eq: null } }], [{ num_gpus: { gte: '' } }]])(
    'refuses the filter %j, which has no value',
    async forgotten => {
      await market(0.4)
      const before = await instancesOf()
      const { status, body } = await launch(here(forgotten))
      expect([status, body.error, body.msg]).toEqual([
        400,
        'invalid_args',
        expect.stringContaining('has nothing to compare with'),
      ])
      expect(await instancesOf()).toBe(before)
    },
  )

  it('rents nothing that costs more than the search allows', async () => {
    await market(0.4)
    const { status, body } = await launch(here({ dph_base: { lte: 0.3 } }))
    expect([status, body.error]).toEqual([404, 'no_such_ask'])
  })

  it('tries as many offers as the limit of the search', async () => {
    const [first, second] = await market(0.2, 0.3)
    // The host raised its floor, and the market does not show the new floor yet.
    await app.sql(`UPDATE machines SET min_bid_gpu_nanos = 200000000
      WHERE id = (SELECT machine_id FROM offers WHERE id = ${first})`)
    const bid = { price: 0.18 }
    const before = await instancesOf()
    const { status, body } = await launch(here({ type: 'bid', limit: 1 }), bid)
    expect([status, body.error, await instancesOf()]).toEqual([404, 'no_such_ask', before])
    const { body: rented } = await launch(here({ type: 'bid', limit: 2 }), bid)
    expect(await offerOf(rented.new_contract)).toBe(second)
  })

  it('bids when it has a price', async () => {
    await market(0.4)
    const { body } = await launch(here({ type: 'bid' }), { price: 0.35 })
    expect(await rentals.read(key, body.new_contract)).toMatchObject({ is_bid: true, dph_base: 0.35 })
  })

  it.each([
    ['without a price for a search of bids', { type: 'bid' }, {}, /^price: is required/],
    [
      'with a price beyond the cap of the search',
      { type: 'bid', dph_total: { lt: 0.05 } },
      { price: 5 },
      /^price: is higher/,
    ],
    ['with an unknown filter', { dph_totl: { lte: 0.1 } }, {}, /^dph_totl: is not an offer field/],
    ['with an unknown operator', { num_gpus: { near: 1 } }, {}, /^num_gpus: unknown operator/],
    ['without an image', {}, { image: null }, /^image/],
    ['with a small disk', {}, { disk: 1 }, /^disk: /],
  ])('is refused %s', async (_name, q, body, words) => {
    await market(0.4)
    expect(await launch(here(q), body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_args', msg: expect.stringMatching(words) },
    })
  })

  it.each([undefined, null, ''])('is refused with the search %o, because it would match any offer', async q => {
    const { status, body } = await launch(q)
    expect([status, body.msg]).toEqual([400, 'q: is required.'])
  })

  it('happens once when it is repeated with an idempotency key', async () => {
    await market(0.4, 0.5)
    const headers = { 'idempotency-key': randomUUID() }
    const [first, second] = [await launch(here(), {}, headers), await launch(here(), {}, headers)]
    expect(first.status).toBe(200)
    expect(second.body).toEqual(first.body)
  })
})

describe('many offers', () => {
  const rentMany = async (body: object, headers = {}, by = key) =>
    await app.rest(by, 'POST', '/asks/bulk/', body, headers)
  const image = 'ubuntu'

  it('are rented with the same settings, each on its own', async () => {
    const [one, two] = (await market(0.4, 0.4)) as [number, number]
    const { status, body } = await rentMany({ ids: [one, 987_654_321, two, one], image, label: 'mine', disk: 10 })
    const [mine, other] = body.created as [number, number]
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        results: [
          { ask_id: one, success: true, new_contract: mine, state: 'running' },
          { ask_id: 987_654_321, success: false, error: 'no_such_ask', msg: expect.stringContaining('987654321') },
          { ask_id: two, success: true, new_contract: other, state: 'running' },
        ],
        created: [mine, other],
        failed: [987_654_321],
        elapsed: expect.any(Number),
      },
    ])
    expect([await offerOf(mine), await offerOf(other)]).toEqual([one, two])
    for (const id of [mine, other]) expect(await rentals.read(key, id)).toMatchObject({ label: 'mine', disk_space: 10 })
  })

  it('fail with one result for each offer when none can be rented', async () => {
    const before = await instancesOf()
    const gone = await rentMany({ ids: [987_654_321, 987_654_322], image })
    expect(gone).toMatchObject({
      status: 400,
      body: { success: false, error: 'no_such_ask', created: [], failed: [987_654_321, 987_654_322] },
    })
    expect(gone.body.results.map(({ error }: { error: string }) => error)).toEqual(['no_such_ask', 'no_such_ask'])
    const [one] = await market(0.4)
    const mixed = await rentMany({ ids: [one, 987_654_321], image, vm: true })
    expect([mixed.status, mixed.body.error]).toEqual([400, 'no_ssh_key_for_vm'])
    const poor = await rentMany({ ids: [one], image }, {}, await app.newKey())
    expect([poor.status, poor.body.error]).toEqual([400, 'insufficient_credit'])
    expect(await instancesOf()).toBe(before)
  })

  it('report a common fault once, in the names of the request', async () => {
    const { status, body } = await rentMany({ ids: await market(0.4, 0.4), image, disk: 1, jupyter_dir: 'x' })
    expect([status, body.error]).toEqual([400, 'invalid_args'])
    expect(body.msg.match(/disk: /g)).toHaveLength(1)
  })

  it.each([
    [{}, "error missings offer 'ids' parameter"],
    [{ ids: null }, "error missings offer 'ids' parameter"],
    [{ ids: [] }, 'no ask ids provided'],
    [{ ids: Array(65).fill(1) }, 'too many ask ids provided; max is 64'],
    [{ ids: ['x'] }, 'ids.0: must be a number.'],
  ])('are refused with %j', async (body, msg) => {
    expect((await rentMany({ image, ...body })).body).toEqual({ success: false, error: 'invalid_args', msg })
  })

  it('can be 64 at most', async () => {
    const [one] = (await market(0.4)) as [number]
    const ids = [one, ...Array.from({ length: 63 }, (_, index) => 987_654_000 + index)]
    const { status, body } = await rentMany({ ids, image })
    expect([status, body.created.length, body.failed]).toEqual([200, 1, ids.slice(1)])
  })

  it('are rented once when the request is repeated with an idempotency key, and failed offers are retried', async () => {
    const [one, two] = await market(0.4, 0.4)
    await app.sql(`UPDATE offers SET rentable = false WHERE id = ${two}`)
    const headers = { 'idempotency-key': randomUUID() }
    const first = await rentMany({ ids: [one, two], image }, headers)
    expect(first.body).toMatchObject({ created: [expect.any(Number)], failed: [two] })
    await app.sql(`UPDATE offers SET rentable = true WHERE id = ${two}`)
    const second = await rentMany({ ids: [one, two], image }, headers)
    expect(second.body.created).toEqual([first.body.created[0], expect.any(Number)])
    expect((await rentMany({ ids: [one, two], image }, headers)).body.created).toEqual(second.body.created)
  })

  it('share no idempotency key with other offers, other settings or a single rental', async () => {
    const [one, two, three, four] = (await market(0.4, 0.4, 0.4, 0.4)) as [number, number, number, number]
    const headers = { 'idempotency-key': randomUUID() }
    expect((await rentMany({ ids: [one, two], image }, headers)).body.created).toHaveLength(2)
    const before = await instancesOf()
    const reused = { status: 422, body: { error: 'idempotency_key_reused' } }
    expect(await rentMany({ ids: [three], image }, headers)).toMatchObject(reused)
    expect(await rentMany({ ids: [one, two, three], image }, headers)).toMatchObject(reused)
    expect(await rentMany({ ids: [one, two], image: 'debian' }, headers)).toMatchObject(reused)
    expect(await app.rest(key, 'PUT', `/asks/${three}/`, { image }, headers)).toMatchObject(reused)
    expect(await instancesOf()).toBe(before)
    const single = { 'idempotency-key': randomUUID() }
    expect((await app.rest(key, 'PUT', `/asks/${three}/`, { image }, single)).status).toBe(200)
    expect(await rentMany({ ids: [four], image }, single)).toMatchObject(reused)
  })

  it('do not reserve the idempotency key when none was rented', async () => {
    const [one, two] = (await market(0.4, 0.4)) as [number, number]
    const headers = { 'idempotency-key': randomUUID() }
    expect((await rentMany({ ids: [one], image, disk: 1 }, headers)).status).toBe(400)
    expect((await rentMany({ ids: [one, two], image }, headers)).body.created).toHaveLength(2)
  })

  it('are rented by only one of two concurrent requests with the same key', async () => {
    const ids = await market(0.4, 0.4, 0.4, 0.4)
    const headers = { 'idempotency-key': randomUUID() }
    const parts = [ids.slice(0, 2), ids.slice(2)]
    const answers = await Promise.all(parts.map(some => rentMany({ ids: some, image }, headers)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    expect(answers.find(({ status }) => status === 200)?.body.created).toHaveLength(2)
  })

  it('are found as instances by the idempotency key, even at its maximum length', async () => {
    const ids = await market(0.4, 0.4)
    const longest = `${randomUUID()}${'k'.repeat(219)}`
    const { body } = await rentMany({ ids, image }, { 'idempotency-key': longest })
    const { data } = await app.graphql(
      key,
      'query ($key: String) { instances(filter: { idempotencyKey: $key }) { nodes { id } } }',
      { key: longest },
    )
    const found = data.instances.nodes.map(({ id }: { id: string }) => Number(id.replace('ins_', '')))
    expect(found.toSorted()).toEqual(body.created)
    const tooLong = await rentMany({ ids, image }, { 'idempotency-key': `${longest}k` })
    expect([tooLong.status, tooLong.body.msg]).toEqual([
      400,
      'Idempotency-Key: must have at most 255 characters, not 256.',
    ])
  })

  it('are rented only if all are permitted to the API key', async () => {
    const [one, two] = (await market(0.4, 0.4)) as [number, number]
    const constraints = { offerId: { eq: one } }
    const bound = await app.newScopedKey(key, { api: { instance_write: { 'instances.rent': { constraints } } } })
    const before = await instancesOf()
    expect((await rentMany({ ids: [one, two], image }, {}, bound)).status).toBe(403)
    expect(await instancesOf()).toBe(before)
    expect((await rentMany({ ids: [one], image }, {}, bound)).status).toBe(200)
  })
})
