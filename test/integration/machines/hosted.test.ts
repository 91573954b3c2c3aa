// Machines and their hosts over GraphQL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let renter: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Lists a machine of the host that the key belongs to. Returns its id. */
async function newMachine(host: string, machine = {}): Promise<number> {
  const offer = await rentals.newOffer(machine)
  const { body } = await app.rest(host, 'GET', '/users/current')
  const [row] = await app.sql(`UPDATE machines SET host_id = ${body.id}
    WHERE id = (SELECT machine_id FROM offers WHERE id = ${offer}) RETURNING id`)
  return (row as { id: number }).id
}

async function rent(machineId: number, numGpus: number, body = {}, key = renter): Promise<number> {
  const search = { machine_id: { eq: machineId }, num_gpus: { eq: numGpus } }
  const [offer] = (await app.rest(key, 'POST', '/bundles/', search)).body.offers
  const answer = await app.rest(key, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu', ...body })
  expect(answer.status).toBe(200)
  return answer.body.new_contract
}

const facts = `machine { id host { id } gpu { name } } freeGpus rentedGpus interruptibleGpus instanceCount runningInstanceCount volumeCount
  renterCostPerHour pricePerGpuHour minimumBidPerGpuHour diskPricePerGbMonth downloadPricePerGb uploadPricePerGb
  listed listedUntil draining suspended asOf`

async function hosted(key: string, page = '', selection = `nodes { ${facts} }`) {
  const { data, errors } = await app.graphql(key, `{ viewer { account { hostedMachines${page} { ${selection} } } } }`)
  expect(errors).toBeUndefined()
  return data.viewer.account.hostedMachines
}

/** What the instances and volumes of these accounts cost per hour, in nano-dollars. */
async function costs(...keys: string[]): Promise<bigint> {
  let sum = 0n
  for (const key of keys) {
    const { data } = await app.graphql(key, '{ viewer { account { costPerHour } } }')
    sum += nanosOf(data.viewer.account.costPerHour)
  }
  return sum
}

function nanosOf(usd: string): bigint {
  const [whole = '0', places = ''] = usd.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(places.padEnd(9, '0'))
}

describe('hostedMachines', () => {
  it('is empty for an account that only rents', async () => {
    expect(await hosted(renter, '', 'totalCount nodes { machine { id } }')).toEqual({ totalCount: 0, nodes: [] })
  })

  it('shows what is rented, and what renters pay for it', async () => {
    const host = await app.newKey()
    const other = await app.newKey(null, someCredit)
    const id = await newMachine(host, { numGpus: 4 })
    const [free] = (await hosted(host)).nodes
    expect(free).toMatchObject({
      ...{ machine: { id: `mch_${id}`, gpu: { name: expect.any(String) } }, freeGpus: 4, rentedGpus: 0 },
      ...{ interruptibleGpus: 0, instanceCount: 0, runningInstanceCount: 0, volumeCount: 0, renterCostPerHour: '0' },
      ...{ pricePerGpuHour: '0.4', minimumBidPerGpuHour: '0.2', diskPricePerGbMonth: '0.36' },
      ...{ listed: true, draining: false, suspended: false },
    })
    await rent(id, 1)
    await rent(id, 2, { price: 1 }, other)
    await rentals.converge()
    await rent(id, 1, { target_state: 'stopped' }, other)
    const volume = await volumesOf(app).make(renter, id)
    const [shown] = (await hosted(host)).nodes
    expect(shown).toMatchObject({ freeGpus: 1, rentedGpus: 3, interruptibleGpus: 2 })
    expect(shown).toMatchObject({ instanceCount: 3, runningInstanceCount: 2, volumeCount: 1 })
    expect(nanosOf(shown.renterCostPerHour)).toBeGreaterThan(nanosOf('1.4'))
    expect(nanosOf(shown.renterCostPerHour)).toBe(await costs(renter, other))
    await volumesOf(app).remove(renter, volume)
    expect((await hosted(host)).nodes).toMatchObject([{ volumeCount: 0 }])
    expect(nanosOf((await hosted(host)).nodes[0].renterCostPerHour)).toBe(await costs(renter, other))
  })

  it('counts no more for GPUs once the credit of their renter has ended, before Berth stops them', async () => {
    const host = await app.newKey()
    const poor = await app.newKey(null, { creditNanos: 2_000_000_000n })
    const id = await newMachine(host, { numGpus: 1 })
    await rent(id, 1, {}, poor)
    await rentals.converge()
    expect((await hosted(host)).nodes[0].renterCostPerHour).toBe('0.404')
    app.clock.advance(6 * 3_600_000)
    expect((await hosted(host)).nodes).toMatchObject([{ rentedGpus: 1, renterCostPerHour: '0.004' }])
    await rentals.converge()
    expect((await hosted(host)).nodes).toMatchObject([{ freeGpus: 1, renterCostPerHour: '0.004' }])
  })

  it('shows whether a machine is listed, draining and suspended', async () => {
    const host = await app.newKey()
    const states = {
      listed: { set: 'verification = verification', shown: { listed: true, draining: false, suspended: false } },
      draining: { set: 'drained_at = listed_at', shown: { listed: true, draining: true, suspended: false } },
      unlisted: {
        set: 'drained_at = listed_at, unlisted_at = listed_at',
        shown: { listed: false, draining: false, suspended: false },
      },
      ended: {
        set: "listed_until = '2000-01-01'",
        shown: { listed: false, draining: false, listedUntil: '2000-01-01T00:00:00.000Z' },
      },
      suspended: { set: 'unconfirmed_at = listed_at', shown: { listed: true, draining: false, suspended: true } },
    }
    for (const { set } of Object.values(states)) {
      await app.sql(`UPDATE machines SET ${set} WHERE id = ${await newMachine(host)}`)
    }
    expect((await hosted(host)).nodes).toMatchObject(Object.values(states).map(({ shown }) => shown))
  })

  it('lists pages forward and backward, oldest first, and only the machines of the host', async () => {
    const [host, other] = [await app.newKey(), await app.newKey()]
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1) {
      ids.push(`mch_${await newMachine(host)}`)
      await newMachine(other)
    }
    const read = async (page: string) => {
      const selection =
        'totalCount nodes { machine { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
      const { nodes, ...more } = await hosted(host, page, selection)
      return { ...more, ids: nodes.map(({ machine }: { machine: { id: string } }) => machine.id) }
    }
    const first = await read('(first: 2)')
    expect(first).toMatchObject({ ids: ids.slice(0, 2), totalCount: 5, pageInfo: { hasNextPage: true } })
    const rest = await read(`(first: 9, after: "${first.pageInfo.endCursor}")`)
    expect(rest).toMatchObject({ ids: ids.slice(2), pageInfo: { hasNextPage: false, hasPreviousPage: true } })
    const last = await read('(last: 2)')
    expect(last).toMatchObject({ ids: ids.slice(3), pageInfo: { hasNextPage: false, hasPreviousPage: true } })
    expect(await read(`(last: 9, before: "${last.pageInfo.startCursor}")`)).toMatchObject({ ids: ids.slice(0, 3) })
  })

  it.each([
    ['(first: 0)', 'first: must be from 1 to 100, not 0.'],
    ['(first: 1, last: 1)', 'use "first" and "after" to page forward'],
    ['(after: "x")', 'The cursor does not belong to this list.'],
    [`(after: "${Buffer.from('["v1","hosted machines by id",4294967296]').toString('base64url')}")`, 'The cursor does'],
  ])('is null with an error for %s, while the account is answered', async (page, message) => {
    const { data, errors } = await app.graphql(
      renter,
      `{ viewer { account { id hostedMachines${page} { totalCount } } } }`,
    )
    expect(data.viewer.account).toEqual({ id: expect.any(String), hostedMachines: null })
    expect(errors?.map(error => error.message)).toEqual([expect.stringContaining(message)])
  })

  it('is null with an error for a key without its permission, while the account is answered', async () => {
    const key = await app.newScopedKey(await app.newKey(), { api: { user_read: {}, misc: {} } })
    const { data, errors } = await app.graphql(key, '{ viewer { account { id hostedMachines { totalCount } } } }')
    expect(data.viewer.account).toEqual({ id: expect.any(String), hostedMachines: null })
    expect(errors?.[0]).toMatchObject({
      message: expect.stringContaining('HOSTED_MACHINES of the category MACHINE_READ'),
      extensions: { code: 'FORBIDDEN' },
    })
  })

  it('runs the same statements for a page of 4 as for a page of 1', async () => {
    const host = await app.newKey()
    for (let count = 0; count < 4; count += 1) await rent(await newMachine(host, { numGpus: 1 }), 1)
    await rentals.converge()
    const statements = (first: number) => captureQueries(() => hosted(host, `(first: ${first})`))
    // The first use of a key is recorded.
    await statements(1)
    const one = await statements(1)
    expect(await statements(4)).toEqual(one)
    // The key, the account, the machines, and the costs of their renters with the transaction around them.
    expect(one.filter(text => /^\s*(SELECT|WITH)/.test(text)).length).toBeLessThanOrEqual(5)
    const nothing = await captureQueries(() => hosted(host, '', 'nodes { freeGpus }'))
    expect(nothing.some(text => text.includes('meters') || text.includes('count(*) FROM machines'))).toBe(false)
  })

  it('reads two columns for two fields, and counts only what is asked for', async () => {
    const host = await app.newKey()
    const read = async (fields: string) => {
      const statements = await captureQueries(() => hosted(host, '', `nodes { ${fields} }`))
      return statements.map(text => /SELECT (m\..*?) FROM machines/s.exec(text)?.[1]).filter(Boolean)
    }
    expect(await read('listedUntil machine { country }')).toEqual(['m.id,m.listed_until,m.country'])
    const [columns] = await read('volumeCount')
    expect(columns).toMatch(/^m\.id,\(SELECT count\(\*\)::int FROM volumes [^()]*\)$/)
  })
})

describe('machine', () => {
  const machine = (id: string) => app.graphql(renter, `{ machine(id: "${id}") { id host { id } cudaVersion } }`)

  it('finds a machine, on the market or not', async () => {
    const host = await app.newKey()
    const { body } = await app.rest(host, 'GET', '/users/current')
    const id = await newMachine(host)
    const found = { id: `mch_${id}`, host: { id: `hst_${body.id}` }, cudaVersion: '12.8' }
    expect((await machine(`mch_${id}`)).data).toEqual({ machine: found })
    expect((await machine(String(id))).data).toEqual({ machine: found })
    await app.sql(`UPDATE machines SET drained_at = listed_at, unlisted_at = listed_at WHERE id = ${id}`)
    expect((await machine(String(id))).data).toEqual({ machine: found })
  })

  it.each(['mch_987654321', '9'.repeat(18)])('is null for the unknown id %s', async id => {
    expect(await machine(id)).toMatchObject({ data: { machine: null } })
    expect((await machine(id)).errors).toBeUndefined()
  })

  it('refuses the id of another type', async () => {
    const { errors } = await machine('ins_1')
    expect(errors?.[0]?.message).toBe('id: "ins_1" is not an id of the expected type; send one like mch_42.')
  })
})

describe('a host', () => {
  it('is found by its id, and its offers by a filter with this id', async () => {
    const host = await app.newKey()
    const id = await newMachine(host, { numGpus: 1 })
    const { data } = await app.graphql(renter, `{ machine(id: ${id}) { host { id } } }`)
    const hostId = data.machine.host.id
    const found = await app.graphql(
      renter,
      `query ($id: ID!) { node(id: $id) { __typename id } offers(filter: { hostId: { eq: $id } }) { nodes { machine { id host { id } } } } }`,
      { id: hostId },
    )
    expect(found.data).toEqual({
      node: { __typename: 'Host', id: hostId },
      offers: { nodes: [{ machine: { id: `mch_${id}`, host: { id: hostId } } }] },
    })
  })

  it('is not found by the number of an account that hosts nothing', async () => {
    const { body } = await app.rest(renter, 'GET', '/users/current')
    const { data, errors } = await app.graphql(
      renter,
      `{ nodes(ids: ["hst_${body.id}", "hst_987654321", "hst_${'9'.repeat(18)}"]) { id } }`,
    )
    expect([data, errors]).toEqual([{ nodes: [null, null, null] }, undefined])
  })
})
