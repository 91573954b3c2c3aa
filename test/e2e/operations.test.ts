// The twelve operations of test/client/operations.ts with a typed client on a running gateway.

import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import * as client from '../client/generated.ts'
import * as operations from '../client/operations.ts'
import { aMachineLine } from '../support/machines/import-files.ts'
import { type GatewayProcess, makeDataDir, runBerth, startGateway, stopProgram } from '../support/processes/programs.ts'
import { createTypedClient, createTypedStream, expectTypename } from '../support/typed-client.ts'

let dataFolder: Awaited<ReturnType<typeof makeDataDir>>
let env: Record<string, string>
let gateway: GatewayProcess
/** Sends requests that are no part of an operation. */
let prepare: ReturnType<typeof createTypedClient>
let ask: typeof prepare
let stream: ReturnType<typeof createTypedStream>
let requests = 0
const countedClient = {
  partial: true,
  onRequest: () => {
    requests += 1
  },
}

beforeAll(async () => {
  dataFolder = await makeDataDir()
  env = { BERTH_DATA_DIR: dataFolder.dataDir, SIMULATED_DELAY: '0' }
  gateway = await startGateway(env)
  const key = readFileSync(join(dataFolder.dataDir, 'demo-key'), 'utf8')
  prepare = createTypedClient(gateway.url, key)
  ask = createTypedClient(gateway.url, key, countedClient)
  stream = createTypedStream(gateway.url, key, countedClient)
})

afterAll(async () => {
  await stopProgram(gateway)
  await dataFolder.remove()
})

beforeEach(() => {
  requests = 0
})

const marketed24Gb = { gpuRamGb: { eq: 24 }, numGpus: { lte: 2 } }

async function newInstance(label: string) {
  const [offer] = (await operations.searchWithFacets(prepare, marketed24Gb)).cheapest
  const offerId = offer?.id ?? expect.fail('There is no offer.')
  return await operations.rent(prepare, { offerId, spec: { source: { image: 'ubuntu' }, label } })
}

async function waitUntilRunning(id: string) {
  const status = async () => (await prepare(client.ReadStatusDocument, { id })).instance?.status
  await expect.poll(status, { timeout: 10_000 }).toBe('RUNNING')
}

/** The rest of a stream for a loop that may end before the stream does. */
function keepOpen<Item>(items: AsyncGenerator<Item>): AsyncIterable<Item> {
  return { [Symbol.asyncIterator]: () => ({ next: () => items.next() }) }
}

describe('a typed client in one request', () => {
  it('1. searches 24 GB cards, with a count and the least price for each model', async () => {
    const { total, cheapest, models } = await operations.searchWithFacets(ask, marketed24Gb)
    expect(requests).toBe(1)
    expect(total).toBeGreaterThan(cheapest.length - 1)
    expect(cheapest.map(({ gpuRamGb }) => gpuRamGb)).toEqual(cheapest.map(() => 24))
    expect(models).toContainEqual(expect.stringMatching(/^RTX 4090: \d+ from \$0\.\d+$/))
    const prices = cheapest.map(({ price }) => Number(price.pricePerGpuHour))
    expect(prices).toEqual(prices.toSorted((a, b) => a - b))
  })

  it('2. quotes a rental, and reads what blocks it', async () => {
    const [offer] = (await operations.searchWithFacets(prepare, marketed24Gb)).cheapest
    const offerId = offer?.id ?? expect.fail('There is no offer.')
    const input = { offerId, spec: { source: { image: 'ubuntu' } } }
    expect(await operations.quote(ask, input)).toEqual({ pricePerHour: offer?.price.pricePerHour, waits: false })
    expect(requests).toBe(1)
    const wrong = { offerId, spec: { source: { image: 'ubuntu' }, diskGb: 1 } }
    expect(await operations.quote(ask, wrong)).toEqual({ blockers: ['spec.diskGb'] })
  })

  it('3. rents an offer, and finds its instance when it asks again', async () => {
    const [offer] = (await operations.searchWithFacets(prepare, marketed24Gb)).cheapest
    const offerId = offer?.id ?? expect.fail('There is no offer.')
    const input = { offerId, spec: { source: { image: 'ubuntu' } } }
    const id = await operations.rent(ask, input)
    expect(id).toMatch(/^ins_\d+$/)
    expect(requests).toBe(1)
    expect(await operations.rent(ask, input)).toBe(id)
    expect(requests).toBe(2)
    const bid = { ...input, terms: { interruptible: { bidPerHour: '0.001' } } }
    const [other] = (await operations.searchWithFacets(prepare, marketed24Gb)).cheapest
    await expect(operations.rent(ask, { ...bid, offerId: other?.id ?? '' })).rejects.toThrow(/Bid at least 0\.\d+\./)
  })

  it('4. follows a fleet in one stream', async () => {
    await newInstance('fleet-a')
    const fleets = operations.watchFleet(stream, { label: { startsWith: 'fleet-' } })
    const waitFor = async (...expected: string[]) => {
      for await (const fleet of keepOpen(fleets)) if (fleet.join() === expected.join()) return
    }
    await waitFor('fleet-a: RUNNING')
    const id = await newInstance('fleet-b')
    await waitFor('fleet-a: RUNNING', 'fleet-b: RUNNING')
    const { destroyInstances } = await prepare(client.DestroyInstancesDocument, { input: { target: { ids: [id] } } })
    expectTypename('DestroyInstancesSuccess', destroyInstances)
    await waitFor('fleet-a: RUNNING')
    await fleets.return(undefined)
    expect(requests).toBe(1)
  })

  it('5. stops the instances whose labels have a prefix, and only as many as a dry run has counted', async () => {
    const ids = [await newInstance('train-a'), await newInstance('train-b')]
    const other = await newInstance('serve')
    const { matchedCount, items } = await operations.stopByLabel(ask, 'train-')
    expect(requests).toBe(1)
    expect(items.map(({ instanceId }) => instanceId)).toEqual(ids)
    const stopped = await operations.stopByLabel(ask, 'train-', matchedCount)
    expect(stopped.items.map(({ outcome, instance }) => [outcome, instance?.targetState])).toEqual([
      ['APPLIED', 'STOPPED'],
      ['APPLIED', 'STOPPED'],
    ])
    await expect(operations.stopByLabel(ask, 'train-', 3)).rejects.toThrow('2')
    await waitUntilRunning(other)
  })

  it('6. reads the last log line of every instance', async () => {
    const id = await newInstance('logged')
    await waitUntilRunning(id)
    const lines = await operations.lastLogLines(ask, {})
    expect(requests).toBe(1)
    expect(lines.find(line => line.id === id)).toEqual({ id, text: expect.stringMatching(/\w/) })
    expect(lines.length).toBeGreaterThan(1)
    const { instance } = await prepare(client.ReadInstanceDocument, { id })
    const machine = ['--id', instance?.machine.id.slice(4) ?? '']
    await runBerth(env, 'machine', 'unplug', ...machine)
    const silent = await operations.lastLogLines(ask, {})
    expect(silent.find(line => line.id === id)).toEqual({ id, text: 'The machine is silent.' })
    // Instances on other machines are answered.
    const answered = silent.filter(({ text }) => text !== 'The machine is silent.')
    expect(answered.length).toBeGreaterThan(0)
    expect(lines).toEqual(expect.arrayContaining(answered))
    await runBerth(env, 'machine', 'plug', ...machine)
  })

  it('7. sums what each label has cost', async () => {
    await newInstance('spent')
    const hour = 3_600_000
    const [startsAt, endsAt] = [-hour, hour].map(ms => new Date(Date.now() + ms).toISOString())
    const read = () => operations.spendByLabel(ask, startsAt ?? '', endsAt ?? '')
    await expect.poll(async () => Object.keys((await read()).labels), { timeout: 10_000 }).toContain('spent')
    requests = 0
    const { cost, labels } = await read()
    expect(requests).toBe(1)
    const nanos = (usd: string) => Math.round(Number(usd) * 1e9)
    const sum = Object.values(labels).reduce((total, one) => total + nanos(one), 0)
    expect(sum).toBe(nanos(cost ?? ''))
  })

  it('8. creates a key that can stop one instance and no other', async () => {
    const [own, other] = [await newInstance('own'), await newInstance('other')]
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const { secret, apiKey } = await operations.createConstrainedKey(ask, 'stopper', own, expiresAt)
    expect(requests).toBe(1)
    const constraints = [{ parameter: 'id', operator: 'EQ', value: { id: own } }]
    expect(apiKey.permissions).toEqual([{ operation: { operation: 'UPDATE_INSTANCE', constraints } }])
    const askAsStopper = createTypedClient(gateway.url, secret)
    const stop = (id: string) => askAsStopper(client.StopOneDocument, { id })
    expect(expectTypename('StopInstanceSuccess', (await stop(own)).stopInstance).instance.targetState).toBe('STOPPED')
    await expect(stop(other)).rejects.toThrow('FORBIDDEN')
  })

  it('9. creates a webhook, changes what it gets, and reads what is wrong with a URL', async () => {
    const { secret, webhook } = await operations.createWebhook(ask, 'ends', 'https://hooks.example.com/berth', [
      'INSTANCE_DESTROYED',
    ])
    expect(requests).toBe(1)
    expect(secret).toMatch(/^whsec_/)
    const changed = await operations.changeWebhookKinds(ask, webhook.id, ['INSTANCE_OUTBID'])
    expect(requests).toBe(2)
    expect(changed).toEqual({ ...webhook, kinds: ['INSTANCE_OUTBID'] })
    const wrong = operations.createWebhook(ask, 'ends', 'ftp://hooks.example.com', ['INSTANCE_OUTBID'])
    await expect(wrong).rejects.toThrow('url')
  })

  it('10. rents the best offer with a template that it knows by name', async () => {
    const input = { name: 'notebook', image: 'pytorch/pytorch:latest', mode: { jupyter: { lab: true } } }
    const { createTemplate } = await prepare(client.CreateTemplateDocument, { input })
    const { id } = expectTypename('CreateTemplateSuccess', createTemplate).template
    const { template, launch } = await operations.rentWithTemplate(ask, 'notebook', marketed24Gb, '5')
    expect(requests).toBe(1)
    expect(template).toEqual({ id, name: 'notebook' })
    expect(launch).toMatchObject({ image: 'pytorch/pytorch:latest', mode: { jupyter: { lab: true } } })
    await expect(operations.rentWithTemplate(ask, 'none', marketed24Gb, '5')).rejects.toThrow('"none"')
  })

  it('11. learns of each new bid to beat from one stream', async () => {
    const { result } = await runBerth(env, 'account', 'create', '--email', 'rival@example.com', '--credit', '100')
    const askAsRival = createTypedClient(gateway.url, result.apiKey)
    const own = { numGpus: { eq: 1 }, gpuFraction: { eq: 1 } }
    const { offers } = await prepare(client.FindOffersDocument, {
      filter: own,
      pricing: { rentalKind: 'INTERRUPTIBLE' },
    })
    const [offer] = offers?.nodes ?? []
    const bid = async (asker: typeof ask, offerId: string, bidPerHour: string) => {
      const spec = { source: { image: 'ubuntu' }, label: 'bid' }
      return await operations.rent(asker, { offerId, terms: { interruptible: { bidPerHour } }, spec })
    }
    const id = await bid(prepare, offer?.id ?? '', offer?.minimumBidPerHour ?? '')
    const bids = operations.watchBidsToBeat(stream, { ids: [id] })
    const next = async () => (await bids.next()).value
    const outbid = next()
    const again = { ...own, machineId: { eq: offer?.machine.id } }
    const { offers: rivals } = await askAsRival(client.FindOffersDocument, {
      filter: again,
      pricing: { rentalKind: 'INTERRUPTIBLE' },
    })
    const [contested] = rivals?.nodes ?? []
    const rival = await bid(askAsRival, contested?.id ?? '', contested?.minimumBidPerHour ?? '')
    const first = await outbid
    expect(first).toEqual({ id, bidPerHour: expect.any(String) })
    // Only the market changes: the rival raises its bid.
    const raised = { input: { id: rival, bidPerHour: '9' } }
    const { updateInstanceBid } = await askAsRival(client.ChangeBidDocument, raised)
    expectTypename('UpdateInstanceBidSuccess', updateInstanceBid)
    let last = first
    for (let tries = 0; tries < 5 && Number(last?.bidPerHour) <= 9; tries += 1) last = await next()
    expect(Number(last?.bidPerHour)).toBeGreaterThan(9)
    await bids.return(undefined)
    expect(requests).toBe(1)
  })

  it('12. shows a host what its machines earn', async () => {
    const { result } = await runBerth(env, 'account', 'create', '--email', 'owner@example.com')
    const file = join(dataFolder.dataDir, 'fleet.json')
    await writeFile(file, JSON.stringify([{ ...aMachineLine(), country: 'IS' }]))
    await runBerth(env, 'machine', 'import', '--file', file, '--host', 'owner@example.com')
    const [offer] = (await operations.searchWithFacets(prepare, { country: { eq: 'IS' }, numGpus: { eq: 1 } })).cheapest
    const offerId = offer?.id ?? expect.fail('The machine is not on the market.')
    const id = await operations.rent(prepare, { offerId, spec: { source: { image: 'ubuntu' } } })
    await waitUntilRunning(id)
    const machines = await operations.hostedMachines(createTypedClient(gateway.url, result.apiKey, countedClient))
    expect(requests).toBe(1)
    const renterCostPerHour = offer?.price.pricePerHour
    expect(machines).toEqual([
      { id: expect.stringMatching(/^mch_/), gpu: 'RTX 4090', freeGpus: 1, rentedGpus: 1, renterCostPerHour },
    ])
  })
})

it('asserts no type in the code of the client', () => {
  const source = readFileSync(join(import.meta.dirname, '../client/operations.ts'), 'utf8')
  expect(source.replaceAll(/^\s*(\/\/|\/\*\*).*$/gm, '')).not.toMatch(/\bas\b|\bany\b|!\.|@ts-/)
})
