// A rental over GraphQL from the offer to its end, with fields that only GraphQL has.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permissions } from '../../../../src/domain/accounts/permissions/permissions.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
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

async function ask(query: string, variables: object = {}) {
  const { data, errors } = await app.graphql(key, query, variables)
  expect(errors).toBeUndefined()
  return data
}

const instance = `id status targetState statusReason { code message exitCode } terminal label pricePerHour startedAt
  actions { action available reason { code message } } connection { host sshPort sshCommand ports { containerPort hostPort protocol } }`

const rent = (offerId: number, input: object = {}) =>
  ask(
    `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      ... on RentInstanceSuccess { instance { ${instance} } }
      ... on Error { code message retry }
      ... on OfferUnavailableError { alternatives { id price { pricePerHour } } yourInstance { id } }
      ... on InvalidInputError { issues { path message } }
      ... on PriceChangedError { currentPricePerHour }
      ... on BidTooLowError { hostMinimumBidPerHour }
    } }`,
    { input: { offerId: String(offerId), spec: { source: { image: 'ubuntu' } }, ...input } },
  ).then(({ rentInstance }) => rentInstance)

const bulk = (
  verb: 'start' | 'stop' | 'update' | 'destroy',
  { ids, ...input }: { ids: string[]; [option: string]: unknown },
) =>
  ask(
    `mutation ($input: ${capitalize(verb)}InstancesInput!) { answer: ${verb}Instances(input: $input) {
      ... on ${capitalize(verb)}InstancesSuccess { matchedCount succeededCount failedCount items {
        index instanceId outcome instance { ${instance} } error { code ... on InvalidStateError { current { id terminal } } }
      } } } }`,
    { input: { target: { ids }, ...input } },
  ).then(({ answer }) => answer)
const capitalize = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`

const read = (id: string) => ask(`{ instance(id: "${id}") { ${instance} } }`).then(data => data.instance)
const outcomesOf = (items: { outcome: string }[]) => items.map(({ outcome }) => outcome)

describe('a rental', () => {
  it('runs, stops, starts and is destroyed, with the available actions at each point', async () => {
    const spec = { source: { image: 'ubuntu' }, mode: { ssh: { direct: true } }, label: 'first' }
    const { instance: made } = await rent(await rentals.newOffer(), { spec })
    const available = async () =>
      (await read(made.id)).actions.flatMap((each: { action: string; available: boolean; reason: unknown }) => {
        expect(each.reason === null).toBe(each.available)
        return each.available ? [each.action] : []
      })
    expect(made).toMatchObject({ status: 'CREATED', targetState: 'RUNNING', connection: null, terminal: false })
    expect(await available()).toEqual(['STOP', 'DESTROY'])

    await rentals.converge()
    const running = await read(made.id)
    expect(running).toMatchObject({
      status: 'RUNNING',
      statusReason: { code: 'STARTED' },
      startedAt: expect.any(String),
    })
    const { host, sshPort, sshCommand, ports } = running.connection
    expect(sshCommand).toBe(`ssh -p ${sshPort} root@${host}`)
    expect(ports).toEqual([{ containerPort: 22, hostPort: sshPort, protocol: 'TCP' }])

    const [stopped] = (await bulk('stop', { ids: [made.id] })).items
    expect(stopped).toMatchObject({ outcome: 'APPLIED', instance: { status: 'RUNNING', targetState: 'STOPPED' } })
    await app.runUntilIdle()
    expect(await read(made.id)).toMatchObject({ status: 'STOPPING', statusReason: { code: 'USER_REQUEST' } })
    await rentals.converge()
    expect(await read(made.id)).toMatchObject({ status: 'STOPPED', connection: null })
    expect(await available()).toEqual(['START', 'RECYCLE', 'DESTROY'])

    await bulk('start', { ids: [made.id] })
    await rentals.converge()
    expect(await read(made.id)).toMatchObject({ status: 'RUNNING', startedAt: running.startedAt })
    expect(await available()).toEqual(['STOP', 'REBOOT', 'RECYCLE', 'DESTROY'])

    await bulk('destroy', { ids: [made.id] })
    expect(await read(made.id)).toMatchObject({ status: 'DESTROYED', terminal: true, connection: null, label: 'first' })
    expect(await available()).toEqual([])
    await rentals.converge()
    expect(await app.sql('SELECT instance_id FROM simulated_containers')).toEqual([])
  })

  it('has an exit code after it ends on its own, and can only be destroyed', async () => {
    const { instance: made } = await rent(await rentals.newOffer())
    await rentals.converge()
    await rentals.exit(Number(made.id.slice(4)), 137)
    const ended = await read(made.id)
    expect(ended).toMatchObject({ status: 'EXITED', terminal: true, statusReason: { code: 'EXITED', exitCode: 137 } })
    expect(ended.actions.filter((each: { available: boolean }) => each.available)).toMatchObject([
      { action: 'DESTROY' },
    ])
  })
})

describe('a refused rental', () => {
  it("of a used-up offer names the cheapest alternatives and the renter's own instance", async () => {
    const [cheap, taken] = [await rentals.newOffer({ gpuNanos: 1_000_000n }), await rentals.newOffer()]
    const { instance: made } = await rent(taken)
    const refused = await rent(taken)
    expect(refused).toMatchObject({ code: 'OFFER_UNAVAILABLE', retry: 'NEVER', yourInstance: { id: made.id } })
    expect(refused.alternatives[0].id).toBe(`off_${cheap}`)
    app.clock.advance(24 * 60 * 60 * 1000 + 1)
    expect((await rent(taken)).yourInstance).toBeNull()
  })

  it('of a used-up offer names no alternative to a key that may not search', async () => {
    const [, taken] = [await rentals.newOffer(), await rentals.newOffer()]
    await rent(taken)
    const query = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      ... on Error { code } ... on OfferUnavailableError { alternatives { id } } } }`
    const input = { offerId: String(taken), spec: { source: { image: 'ubuntu' } } }
    const answers = async (permissions: Permissions) => {
      const { data, errors } = await app.graphql(await app.newScopedKey(key, permissions), query, { input })
      expect(errors).toBeUndefined()
      return data.rentInstance
    }
    expect(await answers({ api: { instance_write: {} } })).toEqual({ code: 'OFFER_UNAVAILABLE', alternatives: [] })
    const { code, alternatives } = await answers({ api: { instance_write: {}, misc: {} } })
    expect(code).toBe('OFFER_UNAVAILABLE')
    expect(alternatives).not.toEqual([])
  })

  it('above the maximum price names the current price', async () => {
    const offerId = await rentals.newOffer()
    const upTo = (maxPricePerHour: string) => rent(offerId, { terms: { onDemand: { maxPricePerHour } } })
    expect(await upTo('0.403999999')).toMatchObject({ code: 'PRICE_CHANGED', currentPricePerHour: '0.404' })
    expect(await upTo('0.404')).toMatchObject({ instance: { pricePerHour: '0.404' } })
  })

  it('with an invalid input has the path of every issue', async () => {
    const spec = {
      source: { image: '' },
      diskGb: 1,
      hostname: 'a b',
      ports: [{ containerPort: 80 }, { containerPort: 70_000 }, { containerPort: 80, hostPort: 0 }],
      env: [{ name: 'A-B', value: 'x' }],
      mode: { args: { args: ['x\0'] } },
    }
    const { code, issues } = await rent(await rentals.newOffer(), { spec })
    const paths = issues.map(({ path }: { path: string }) => path).toSorted()
    expect(code).toBe('INVALID_INPUT')
    expect(paths).toEqual([
      'spec.diskGb',
      'spec.env.A-B',
      'spec.hostname',
      'spec.mode.args.args',
      'spec.ports.1.containerPort',
      'spec.ports.2.hostPort',
      'spec.source.image',
    ])
  })

  it('with a low bid names the minimum', async () => {
    const terms = { interruptible: { bidPerHour: '0.1' } }
    expect(await rent(await rentals.newOffer(), { terms })).toMatchObject({
      code: 'BID_TOO_LOW',
      hostMinimumBidPerHour: '0.2',
    })
  })
})

describe('a bulk command', () => {
  const rentOne = async () => (await rent(await rentals.newOffer())).instance.id as string

  it.each([
    ['stop', {}],
    ['update', { label: 'x' }],
    ['destroy', {}],
  ] as const)('applies all or nothing with REJECT_EVERYTHING: %s', async (verb, change) => {
    const ids = [await rentOne(), 'ins_987654', await rentOne()]
    const refused = await bulk(verb, { ids, ...change, errorPolicy: 'REJECT_EVERYTHING' })
    expect(outcomesOf(refused.items)).toEqual(['SKIPPED', 'FAILED', 'SKIPPED'])
    expect([refused.matchedCount, refused.succeededCount, refused.failedCount]).toEqual([2, 0, 3])
    expect(await read(ids[0] as string)).toMatchObject({ targetState: 'RUNNING', status: 'CREATED' })
    const done = await bulk(verb, { ids: [ids[0], ids[2]] as string[], ...change, errorPolicy: 'REJECT_EVERYTHING' })
    expect(outcomesOf(done.items)).toEqual(['APPLIED', 'APPLIED'])
  })

  it.each([
    ['stop', {}],
    ['update', { label: 'x' }],
    ['destroy', {}],
  ] as const)('returns outcomes and changes nothing on a dry run: %s', async (verb, change) => {
    const ids = [await rentOne(), 'ins_987654']
    const before = await read(ids[0] as string)
    const { items } = await bulk(verb, { ids, ...change, dryRun: true })
    expect(outcomesOf(items)).toEqual(['APPLIED', 'FAILED'])
    expect(await read(ids[0] as string)).toEqual(before)
  })

  it('has one item per id in the order of the ids, even for a duplicate', async () => {
    const [one, other] = [await rentOne(), await rentOne()]
    const { items } = await bulk('update', { ids: [other, one, other], label: 'x' })
    const places = items.map(({ index, instanceId }: { index: number; instanceId: string }) => [index, instanceId])
    expect(places).toEqual([other, one, other].map((id, index) => [index, id]))
  })

  it('names the instance when its status is final', async () => {
    const id = `ins_${await rentals.rentToStatus(key, 'exited')}`
    const { items } = await bulk('start', { ids: [id] })
    expect(items).toMatchObject([
      { outcome: 'FAILED', error: { code: 'INVALID_STATE', current: { id, terminal: true } } },
    ])
  })

  it('removes a label with null', async () => {
    const id = await rentOne()
    await bulk('update', { ids: [id], label: 'x' })
    const { items } = await bulk('update', { ids: [id], label: null })
    expect(items).toMatchObject([{ outcome: 'APPLIED', instance: { label: null } }])
  })
})
