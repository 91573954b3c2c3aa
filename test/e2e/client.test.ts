import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as client from '../client/generated.ts'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { type GatewayProcess, makeDataDir, runBerth, startGateway, stopProgram } from '../support/processes/programs.ts'
import { createTypedClient, expectTypename } from '../support/typed-client.ts'

type AskGateway = ReturnType<typeof createTypedClient>
type RentInput = client.RentInstanceInput

let dataFolder: Awaited<ReturnType<typeof makeDataDir>>
let gateway: GatewayProcess
let ask: AskGateway
let askAsRival: AskGateway

beforeAll(async () => {
  dataFolder = await makeDataDir()
  const env = { BERTH_DATA_DIR: dataFolder.dataDir, SIMULATED_DELAY: '0' }
  gateway = await startGateway(env)
  ask = createTypedClient(gateway.url, readFileSync(join(dataFolder.dataDir, 'demo-key'), 'utf8'))
  const { result } = await runBerth(env, 'account', 'create', '--email', 'rival@example.com', '--credit', '100')
  askAsRival = createTypedClient(gateway.url, result.apiKey)
})

afterAll(async () => {
  await stopProgram(gateway)
  await dataFolder.remove()
})

/** Finds an offer of a whole machine with one GPU, for bids. Two rentals there compete for the same GPU. */
async function findWholeMachine(ask: AskGateway, filter: client.OfferFilter) {
  const whole = { ...filter, numGpus: { eq: 1 }, gpuFraction: { eq: 1 } }
  const { offers } = await ask(client.FindOffersDocument, {
    filter: whole,
    pricing: { rentalKind: 'INTERRUPTIBLE', diskGb: 16 },
  })
  return offers?.nodes[0] ?? expect.fail('No machine matches.')
}

async function readInstance(ask: AskGateway, id: string) {
  const { instance } = await ask(client.ReadStatusDocument, { id })
  return instance ?? expect.fail(`${id} does not exist.`)
}

/** Waits until an instance has this status and this reason, or no reason if none is given. */
async function expectStatus(ask: AskGateway, id: string, status: client.InstanceStatus, reason?: string) {
  const seen = async () => {
    const instance = await readInstance(ask, id)
    return { status: instance.status, reason: instance.statusReason?.code }
  }
  await expect.poll(seen, { timeout: 10_000 }).toEqual({ status, reason })
}

describe('a typed client', () => {
  let sshKeyId: string
  let template: { id: string; hashId: string }
  let machineId: string
  let volumeId: string
  let rental: RentInput
  let instanceId: string
  let rivalId: string

  it('registers an SSH key for its account', async () => {
    const input = { publicKey: `${aPublicKey('laptop')} ada@laptop` }
    const { createSshKey } = await ask(client.RegisterSshKeyDocument, { input })
    const { sshKey } = expectTypename('CreateSshKeySuccess', createSshKey)
    expect(sshKey.name).toBe('ada@laptop')
    sshKeyId = sshKey.id
    const { viewer } = await ask(client.ViewerDocument)
    expect(viewer.account).toMatchObject({ email: 'demo@example.com', credit: '100', sshKeys: [{ id: sshKeyId }] })
    const again = await ask(client.RegisterSshKeyDocument, { input })
    expect(expectTypename('ConflictError', again.createSshKey).id).toBe(sshKeyId)
  })

  it('creates a template', async () => {
    const { createTemplate } = await ask(client.CreateTemplateDocument, {
      input: {
        name: 'notebook',
        image: 'pytorch/pytorch:latest',
        mode: { jupyter: { direct: true, lab: true } },
        env: [
          { name: 'EPOCHS', value: '3' },
          { name: 'TOKEN', value: 'hidden', secret: true },
        ],
        ports: [{ containerPort: 6006 }],
        onStart: 'tensorboard --logdir /data',
        diskGb: 16,
      },
    })
    const saved = expectTypename('CreateTemplateSuccess', createTemplate)
    expect(saved.template).toMatchObject({
      mode: { ssh: null, jupyter: { direct: true, lab: true, directory: null }, args: null },
      env: [
        { name: 'EPOCHS', value: '3', secret: false },
        { name: 'TOKEN', value: null, secret: true },
      ],
    })
    template = saved.template
  })

  it('renames the template with what it read, and without its secret', async () => {
    const { template: read } = await ask(client.ReadTemplateDocument, { by: { name: 'notebook' } })
    const { id, hashId, mode, ...settings } = read ?? expect.fail('There is no such template.')
    expect(hashId).toBe(template.hashId)
    const jupyter = mode?.jupyter ?? expect.fail('It has another mode.')
    const { updateTemplate } = await ask(client.UpdateTemplateDocument, {
      input: { id, ...settings, mode: { jupyter }, name: 'renamed' },
    })
    const { template: renamed } = expectTypename('UpdateTemplateSuccess', updateTemplate)
    expect(renamed).toEqual({ ...read, name: 'renamed', hashId: renamed.hashId })
    expect(renamed.hashId).not.toBe(hashId)
    template = renamed
  })

  it('makes a volume on a machine with an offer', async () => {
    const offer = await findWholeMachine(ask, { freePorts: { gte: 10 }, freeDiskGb: { gte: 200 } })
    machineId = offer.machine.id
    const { volumeOffers } = await ask(client.FindVolumeOffersDocument, { machine: machineId, sizeGb: 50 })
    const volumeOffer = volumeOffers?.nodes[0] ?? expect.fail('There is no room.')
    const { createVolume } = await ask(client.CreateVolumeDocument, {
      input: { offerId: volumeOffer.id, sizeGb: 50, name: 'runs' },
    })
    const { volume } = expectTypename('CreateVolumeSuccess', createVolume)
    expect(volume).toEqual({
      id: volume.id,
      name: 'runs',
      sizeGb: 50,
      pricePerHour: volumeOffer.price.pricePerHour,
      attachment: null,
    })
    volumeId = volume.id
    rental = {
      offerId: offer.id,
      terms: { interruptible: { bidPerHour: offer.minimumBidPerHour } },
      spec: {
        source: { template: { by: { hashId: template.hashId } } },
        volumes: [{ source: { volumeId }, mountPath: '/data' }],
        env: [{ name: 'EPOCHS', value: '30' }],
        label: 'training',
      },
      idempotencyKey: 'training-1',
    }
  })

  it('gets a quote with the launch settings and their sources', async () => {
    const { rentQuote } = await ask(client.QuoteDocument, { input: rental })
    expect(rentQuote).toMatchObject({ rentable: true, waits: false, blockers: [], warnings: [] })
    expect(rentQuote?.gpuPricePerHour).toBe(rental.terms?.interruptible?.bidPerHour)
    expect(rentQuote?.launch).toMatchObject({
      mode: { ssh: null, jupyter: { direct: true, lab: true, directory: null }, args: null },
      env: [
        { name: 'EPOCHS', value: '30', source: 'REQUEST' },
        { name: 'TOKEN', value: null, source: 'TEMPLATE' },
      ],
      sources: { image: 'TEMPLATE', mode: 'TEMPLATE', onStart: 'TEMPLATE', diskGb: 'TEMPLATE', registry: 'DEFAULT' },
    })
  })

  it('gets the same refusal from a quote and from a rental', async () => {
    const lowBid: RentInput = { ...rental, terms: { interruptible: { bidPerHour: '0.001' } } }
    const { rentQuote } = await ask(client.QuoteDocument, { input: lowBid })
    const { rentInstance } = await ask(client.RentDocument, { input: lowBid })
    const { message, hostMinimumBidPerHour } = expectTypename('BidTooLowError', rentInstance)
    expect(hostMinimumBidPerHour).toBe(rental.terms?.interruptible?.bidPerHour)
    expect(rentQuote?.blockers).toEqual([
      { __typename: 'BidTooLowError', code: 'BID_TOO_LOW', message, retry: 'AFTER_FIX', retryAfter: null },
    ])
  })

  it('cannot compile a contradictory input', async () => {
    // @ts-expect-error The compiler refuses it, as the gateway does.
    const source: client.LaunchSourceInput = { image: 'ubuntu', template: { by: { hashId: template.hashId } } }
    const input = { ...rental, spec: { ...rental.spec, source } }
    await expect(ask(client.RentDocument, { input })).rejects.toThrow('BAD_USER_INPUT')
  })

  it('rents once with a template, a volume and a bid', async () => {
    const first = expectTypename(
      'RentInstanceSuccess',
      (await ask(client.RentDocument, { input: rental })).rentInstance,
    )
    const again = expectTypename(
      'RentInstanceSuccess',
      (await ask(client.RentDocument, { input: rental })).rentInstance,
    )
    expect([first.replayed, again.replayed]).toEqual([false, true])
    expect(again.instance.id).toBe(first.instance.id)
    instanceId = first.instance.id
    await expectStatus(ask, instanceId, 'RUNNING', 'STARTED')
  })

  it('gets its own instance and alternatives when it rents the offer again', async () => {
    const input = { offerId: rental.offerId, spec: { source: { image: 'ubuntu' } } }
    const { rentInstance } = await ask(client.RentDocument, { input })
    const { yourInstance, alternatives } = expectTypename('OfferUnavailableError', rentInstance)
    expect(yourInstance?.id).toBe(instanceId)
    expect(alternatives.length).toBeGreaterThan(0)
  })

  it('reads the settings of its instance', async () => {
    const { instance } = await ask(client.ReadInstanceDocument, { id: instanceId })
    expect(instance).toMatchObject({
      ...{ label: 'training', rentalKind: 'INTERRUPTIBLE', idempotencyKey: 'training-1' },
      ...{ machine: { id: machineId }, template: { id: template.id, hashId: template.hashId } },
      ...{ sshKeys: [{ id: sshKeyId }], volumes: [{ mountPath: '/data', volume: { id: volumeId } }] },
      launch: { image: 'pytorch/pytorch:latest', sources: { image: 'TEMPLATE' } },
    })
    expect(instance?.connection?.ports.map(({ containerPort }) => containerPort)).toEqual([22, 6006, 8080])
    expect(instance?.actions).toContainEqual({ action: 'UPDATE_BID', available: true, reason: null })
  })

  it('loses its GPU to a higher bid of another account', async () => {
    const { id: offerId, minimumBidPerHour } = await findWholeMachine(askAsRival, { machineId: { eq: machineId } })
    const { rentInstance } = await askAsRival(client.RentDocument, {
      input: {
        offerId,
        terms: { interruptible: { bidPerHour: minimumBidPerHour } },
        spec: { source: { image: 'ubuntu' } },
      },
    })
    rivalId = expectTypename('RentInstanceSuccess', rentInstance).instance.id
    await expectStatus(askAsRival, rivalId, 'RUNNING', 'STARTED')
    await expectStatus(ask, instanceId, 'SCHEDULING', 'OUTBID')
  })

  it('bids the minimum that wins, and runs again', async () => {
    const { minimumBidPerHour } = await readInstance(ask, instanceId)
    const bidPerHour = minimumBidPerHour ?? expect.fail('No bid wins.')
    const { updateInstanceBid } = await ask(client.ChangeBidDocument, { input: { id: instanceId, bidPerHour } })
    expect(expectTypename('UpdateInstanceBidSuccess', updateInstanceBid).instance.bidPerHour).toBe(bidPerHour)
    await expectStatus(ask, instanceId, 'RUNNING', 'STARTED')
    await expectStatus(askAsRival, rivalId, 'SCHEDULING', 'OUTBID')
  })

  it('can delete the volume only after the instance is gone', async () => {
    const tryDeleteVolume = async () =>
      (await ask(client.DeleteVolumeDocument, { input: { id: volumeId } })).deleteVolume
    expect(expectTypename('VolumeUnavailableError', await tryDeleteVolume()).attachedTo?.id).toBe(instanceId)
    const { destroyInstances } = await ask(client.DestroyInstancesDocument, {
      input: { target: { ids: [instanceId] } },
    })
    expect(expectTypename('DestroyInstancesSuccess', destroyInstances).items).toEqual([
      { instanceId, outcome: 'APPLIED', error: null },
    ])
    // The container must be gone first.
    await expect
      .poll(tryDeleteVolume, { timeout: 10_000 })
      .toEqual({ __typename: 'DeleteVolumeSuccess', deletedId: volumeId })
  })
})

it('lets a typed client search and rent in one request', async () => {
  const { rentBestOffer } = await ask(client.RentBestOfferDocument, {
    input: {
      filter: { gpuName: { in: ['RTX 3090', 'RTX 4090'] }, reliability: { gte: 0.9 } },
      orderBy: [{ field: 'DLPERF_PER_DOLLAR', direction: 'DESC' }],
      terms: { onDemand: { maxPricePerHour: '5' } },
      spec: { source: { image: 'ubuntu' }, mode: { ssh: { direct: true } } },
    },
  })
  const { instance, attempts } = expectTypename('RentBestOfferSuccess', rentBestOffer)
  expect(attempts).toEqual([{ offerId: expect.stringMatching(/^off_/), failure: null }])
  expect(instance).toMatchObject({ gpuName: expect.stringMatching(/^RTX [34]090$/), rentalKind: 'ON_DEMAND' })
})

it('lets a typed client create a key with fewer permissions, and revoke it', async () => {
  const { createApiKey } = await ask(client.CreateApiKeyDocument, {
    input: { name: 'reader', permissions: [{ category: 'USER_READ' }] },
  })
  const { secret, apiKey } = expectTypename('CreateApiKeySuccess', createApiKey)
  const askAsReader = createTypedClient(gateway.url, secret)
  const { viewer } = await askAsReader(client.ViewerDocument)
  const permissions = [{ category: 'USER_READ' as const, operation: null }]
  expect(viewer.account?.apiKeys?.[0]).toEqual({ id: apiKey.id, name: 'reader', current: true, permissions })
  const revokeVariables = { input: { id: apiKey.id } }
  await expect(askAsReader(client.RevokeApiKeyDocument, revokeVariables)).rejects.toThrow('FORBIDDEN')
  const { deleteApiKey } = await ask(client.RevokeApiKeyDocument, revokeVariables)
  expect(expectTypename('DeleteApiKeySuccess', deleteApiKey).deletedId).toBe(apiKey.id)
  await expect(askAsReader(client.ViewerDocument)).rejects.toThrow('UNAUTHENTICATED')
})
