// What the schema's types show, computed naively: every row of every table, read whole through Prisma Client, and filtered in
// JavaScript. Each item is an object whose properties are the fields of its type.

import type { PrismaClient } from '../../../src/database/generated/client.ts'
import type { Policy } from '../../../src/domain/instances/policy/policy.ts'
import { printUsd } from '../../../src/domain/money.ts'
import type { TemplateSettings } from '../../../src/domain/templates/templates.ts'
import { createSecrets } from '../../../src/services/secrets.ts'

type Item = Record<string, unknown>
/** The root fields, which read their arguments from an object. */
export type Reference = Record<string, (args: { first: number; id: string }) => unknown>

/** Fields that are not columns: rules with tests of their own compute them, or machines answer them. */
export const notOfTables = [
  'Account.costPerHour Account.credit Account.runwaySeconds Account.usage',
  'ApiKey.current ApiKey.lastUsedAt ApiKey.permissions SpendLimit.used Event.changes Event.message Event.reason',
  'EventConnection.pageInfo EventEdge.cursor HostedMachine.renterCostPerHour HostedMachineConnection.pageInfo',
  'HostedMachineEdge.cursor LedgerConnection.pageInfo LedgerConnection.totalCount LedgerEdge.cursor',
  'Instance.accruedCost Instance.actions Instance.connection Instance.costPerHour Instance.costPerHourWhenStopped',
  'Instance.currentMetrics Instance.logs Instance.metrics Instance.minimumBidPerHour Instance.statusReason',
  'LaunchConfig.env LaunchConfig.mode',
  'LaunchConfig.ports LaunchConfig.sources LaunchConfig.warnings Machine.region Offer.score GpuModel.gpuRamGb',
  'Offer.gpuRamGb VolumeOfferPrice.pricePerHour Template.env Template.mode Template.ports Template.registry',
].flatMap(names => names.split(' '))

const actorTypes: Record<string, string> = { operator: 'OperatorActor', system: 'SystemActor' }
/** As of the apps that tests start. */
const secrets = createSecrets('a secret of tests')
const prefixes: Record<string, string> = {
  ...{ Account: 'acc', ApiKey: 'key', Instance: 'ins', SpendLimit: 'lim' },
  ...{ SshKey: 'ssh', Template: 'tpl', Volume: 'vol', Webhook: 'whk' },
}

/** The reference for one account at an instant. */
export async function referenceFor(prisma: PrismaClient, accountId: number, now: Date): Promise<Reference> {
  const whole = { machine: { include: { gpuModel: true } } } as const
  const offers = await prisma.offer.findMany({ include: whole })
  const machines = await prisma.machine.findMany({
    include: { gpuModel: true, gpus: { include: { holder: true } } },
    orderBy: { id: 'asc' },
  })
  const templates = await prisma.template.findMany()
  const volumes = await prisma.volume.findMany({ include: { ...whole, attachments: true } })
  const instances = await prisma.instance.findMany({
    include: { ...whole, offer: { include: whole }, sshKeys: { include: { sshKey: true } } },
  })
  const account = await prisma.account.findUniqueOrThrow({
    where: { id: accountId },
    include: {
      apiKeys: true,
      sshKeys: true,
      webhooks: true,
      spendLimits: true,
      secretVariables: true,
      ledgerEntries: { include: { meter: true } },
    },
  })
  // One session wrote all of them, so their ids are in the order of their transactions.
  const events = await prisma.event.findMany({ where: { accountId }, orderBy: { id: 'asc' } })
  const deliveries = await prisma.webhookDelivery.findMany({ include: { event: true } })
  type OfferRow = (typeof offers)[number]
  type MachineRow = OfferRow['machine']
  type InstanceRow = (typeof instances)[number]

  const own = <Row extends { accountId: number }>(rows: Row[]) => rows.filter(row => row.accountId === accountId)
  const living = <Row extends { deletedAt: Date | null }>(rows: Row[]) => rows.filter(row => row.deletedAt === null)
  const newestFirst = <Row extends { id: number | bigint }>(rows: Row[]) =>
    rows.toSorted((one, other) => Number(other.id) - Number(one.id))
  const page = (items: Item[]) => ({ nodes: items, edges: items.map(node => ({ node })) })
  const itemsByType: Record<string, () => Item[]> = {
    Account: () => [wholeAccount],
    ApiKey: () => apiKeys,
    Instance: () => own(instances).map(instance),
    SpendLimit: () => account.spendLimits.map(spendLimit),
    SshKey: () => living(account.sshKeys).map(sshKey),
    Template: () => visibleTemplates.map(template),
    Volume: () => own(living(volumes)).map(volume),
    Webhook: () => living(account.webhooks).map(webhook),
  }
  const printId = (type: string, id: number | bigint) => `${prefixes[type]}_${id}`
  const itemOf = (type: string, id: string) => itemsByType[type]?.().find(item => item['id'] === id) ?? null
  const named = <Row extends { id: number; name: string | null }>({ id, name }: Row, type: string) =>
    name || printId(type, id)
  const upper = (text: string) => text.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()

  const gpuModel = ({ id, vendor, ramMb, ...same }: MachineRow['gpuModel']): Item => {
    return { __typename: 'GpuModel', ...same, id: `gpu_${id}`, vendor: upper(vendor), gpuRamMb: ramMb }
  }
  const machine = ({ id, hostId, diskMb, freeDiskMb, verification, gpuModel: model, ...same }: MachineRow): Item => ({
    ...{ __typename: 'Machine', ...same, id: `mch_${id}`, host: { __typename: 'Host', id: `hst_${hostId}` } },
    ...{ totalDiskGb: diskMb / 1000, freeDiskGb: freeDiskMb / 1000, verification: upper(verification) },
    cpuRamGb: same.cpuRamMb / 1000,
    gpu: gpuModel(model),
  })
  const offer = (row: OfferRow): Item => {
    const { machine: place, numGpus } = row
    return {
      ...{ __typename: 'Offer', ...row, id: `off_${row.id}`, asOf: now, machine: machine(place) },
      gpu: gpuModel(place.gpuModel),
      gpuName: place.gpuModel.name,
      gpuFraction: numGpus / place.numGpus,
      gpuRamMb: place.gpuModel.ramMb,
      gpuTotalRamMb: place.gpuModel.ramMb * numGpus,
      cpuCoresEffective: (place.cpuCores * numGpus) / place.numGpus,
      tflops: place.gpuModel.tflops * numGpus,
      minimumBidPerHour: printUsd(row.minBidNanos),
      diskPricePerGbMonth: printUsd(place.diskPricePerGbMonthNanos),
      downloadPricePerGb: printUsd(place.downloadPricePerGbNanos),
      uploadPricePerGb: printUsd(place.uploadPricePerGbNanos),
      rentable: row.rentable && place.listedUntil > now,
      maxDiskGb: place.freeDiskMb / 1000,
      listedUntil: place.listedUntil,
      // The columns have the price with the default disk.
      price: {
        rentalKind: 'ON_DEMAND',
        diskGb: 8,
        pricePerHour: printUsd(row.priceNanos),
        gpuPricePerHour: printUsd(row.gpuPriceNanos),
        diskPricePerHour: printUsd(row.priceNanos - row.gpuPriceNanos),
        pricePerGpuHour: printUsd((row.priceNanos + BigInt(numGpus) / 2n) / BigInt(numGpus)),
        dlperfPerDollar: row.dlperf / Number(printUsd(row.priceNanos)),
        tflopsPerDollar: (place.gpuModel.tflops * numGpus) / Number(printUsd(row.priceNanos)),
      },
    }
  }
  const volumeOffer = (row: MachineRow): Item => ({
    ...{ __typename: 'VolumeOffer', id: `vof_${row.id}`, machine: machine(row), asOf: now, price: { sizeGb: 1 } },
    diskPricePerGbMonth: printUsd(row.diskPricePerGbMonthNanos),
    maxSizeGb: row.freeDiskMb / 1000,
  })
  const hostedMachine = (row: (typeof machines)[number]): Item => {
    const { unlistedAt, drainedAt } = row
    const held = row.gpus.flatMap(({ holder }) => holder ?? [])
    const resident = instances.filter(({ machineId, destroyedAt }) => machineId === row.id && destroyedAt === null)
    return {
      ...{ __typename: 'HostedMachine', machine: machine(row), asOf: now, listedUntil: row.listedUntil },
      freeGpus: row.gpus.length - held.length,
      rentedGpus: held.length,
      interruptibleGpus: held.filter(({ interruptible }) => interruptible).length,
      instanceCount: resident.length,
      runningInstanceCount: resident.filter(({ status }) => status === 'running').length,
      volumeCount: living(volumes).filter(({ machineId }) => machineId === row.id).length,
      pricePerGpuHour: printUsd(row.gpuNanos),
      minimumBidPerGpuHour: printUsd(row.minBidGpuNanos),
      diskPricePerGbMonth: printUsd(row.diskPricePerGbMonthNanos),
      downloadPricePerGb: printUsd(row.downloadPricePerGbNanos),
      uploadPricePerGb: printUsd(row.uploadPricePerGbNanos),
      listed: unlistedAt === null && row.listedUntil > now,
      draining: drainedAt !== null && unlistedAt === null,
      suspended: row.unconfirmedAt !== null,
    }
  }
  const template = (row: (typeof templates)[number]): Item => {
    const settings = row.settings as TemplateSettings
    const { image, diskGb, hostname, onStart, volumeHint, about } = settings
    return {
      ...{ __typename: 'Template', ...row, id: `tpl_${row.id}`, mine: row.accountId === accountId },
      ...{ image, diskGb, hostname, onStart, volumeHint },
      description: about?.description || null,
      readme: about?.readme || null,
    }
  }
  const volume = (row: (typeof volumes)[number]): Item => ({
    ...{ __typename: 'Volume', ...row, id: `vol_${row.id}`, sizeGb: row.sizeMb / 1000, machine: machine(row.machine) },
    pricePerHour: printUsd(row.diskNanos),
    attachment: () => row.attachments.filter(({ releasedAt }) => releasedAt === null).map(attachment)[0] ?? null,
  })
  const attachment = ({ volumeId, instanceId, mountPath }: (typeof volumes)[number]['attachments'][number]): Item => ({
    mountPath,
    volume: () => volumes.filter(({ id }) => id === volumeId).map(volume)[0],
    instance: () => instances.filter(({ id }) => id === instanceId).map(instance)[0],
  })
  const sshKey = (row: (typeof account)['sshKeys'][number]): Item => ({
    ...{ __typename: 'SshKey', ...row, id: `ssh_${row.id}`, name: named(row, 'SshKey') },
  })
  const actor = ({ actorKind, apiKeyId }: { actorKind: string; apiKeyId: number | null }): Item => {
    if (actorKind !== 'api_key') return { __typename: actorTypes[actorKind], kind: upper(actorKind) }
    const apiKey = () => apiKeys.find(({ id }) => id === `key_${apiKeyId}`) ?? null
    return { __typename: 'ApiKeyActor', kind: 'API_KEY', apiKeyId: `key_${apiKeyId}`, apiKey }
  }
  const event = (row: (typeof events)[number]): Item => {
    const [was, is] = [row.before, row.after].map(facts => (facts as Item | null)?.['status'])
    return {
      ...{ __typename: 'Event', ...row, id: `evt_${row.id}`, actor: actor(row) },
      subjectId: printId(row.subjectType, row.subjectId),
      subject: () => itemOf(row.subjectType, printId(row.subjectType, row.subjectId)),
      previousStatus: was ? upper(String(was)) : null,
      status: is ? upper(String(is)) : null,
    }
  }
  const delivery = (row: (typeof deliveries)[number]): Item => {
    const pending = row.attempts === 0 ? 'PENDING' : 'RETRYING'
    return {
      ...{ __typename: 'WebhookDelivery', ...row, id: `whd_${row.id}`, event: event(row.event) },
      status: row.deliveredAt ? 'DELIVERED' : row.dueAt ? pending : 'GIVEN_UP',
      nextAttemptAt: row.dueAt,
    }
  }
  const instance = (row: InstanceRow): Item => {
    const { machine: place, destroyedAt, status, launch } = row
    return {
      ...{ __typename: 'Instance', ...row, id: `ins_${row.id}`, machine: machine(place), offer: offer(row.offer) },
      gpu: gpuModel(place.gpuModel),
      gpuName: place.gpuModel.name,
      kind: row.vm ? 'VM' : 'CONTAINER',
      targetState: upper(row.targetState),
      status: destroyedAt ? 'DESTROYED' : upper(status),
      statusChangedAt: destroyedAt ?? row.statusChangedAt,
      terminal: destroyedAt !== null || ['exited', 'offline', 'unknown'].includes(status),
      diskGb: row.diskMb / 1000,
      launch: { ...(launch as Item), diskGb: row.diskMb / 1000 },
      template: () => visibleTemplates.filter(({ id }) => id === row.templateId).map(template)[0] ?? null,
      templateHashId: row.templateHash,
      rentalKind: row.interruptible ? 'INTERRUPTIBLE' : 'ON_DEMAND',
      bidPerHour: row.interruptible ? printUsd(row.gpuPriceNanos) : null,
      pricePerHour: printUsd(row.gpuPriceNanos + row.diskNanos),
      diskPricePerHour: printUsd(row.diskNanos),
      policy: policyOf(row),
      replaces: () => instances.filter(({ id }) => id === row.replacesId).map(instance)[0] ?? null,
      replacedBy: () => instances.filter(({ replacesId }) => replacesId === row.id).map(instance)[0] ?? null,
      // Without arguments, the newest page.
      events: page(
        events
          .filter(({ instanceId }) => instanceId === row.id)
          .slice(-25)
          .map(event),
      ),
      sshKeys: living(row.sshKeys.map(({ sshKey: key }) => key))
        .sort((one, other) => one.id - other.id)
        .map(sshKey),
      volumes: volumes
        .flatMap(({ attachments }) => attachments)
        .filter(({ instanceId, releasedAt }) => instanceId === row.id && releasedAt === null && !destroyedAt)
        .sort((one, other) => (one.mountPath < other.mountPath ? -1 : 1))
        .map(attachment),
    }
  }
  const spendLimit = (row: (typeof account)['spendLimits'][number]): Item => ({
    ...{ __typename: 'SpendLimit', ...row, id: `lim_${row.id}`, window: upper(row.window), action: upper(row.action) },
    setByOperator: row.cap,
    amount: printUsd(row.amountNanos),
    subjectId: row.apiKeyId === null ? `acc_${accountId}` : `key_${row.apiKeyId}`,
    subject: () => (row.apiKeyId === null ? wholeAccount : itemOf('ApiKey', printId('ApiKey', row.apiKeyId))),
  })
  const webhook = (row: (typeof account)['webhooks'][number]): Item => ({
    ...{ __typename: 'Webhook', ...row, id: `whk_${row.id}`, name: named(row, 'Webhook') },
    url: secrets.open(row.sealedUrl),
    recentDeliveries: deliveries
      .filter(({ webhookId }) => webhookId === row.id)
      .sort((one, other) => Number(other.eventId - one.eventId))
      .slice(0, 10)
      .map(delivery),
  })
  const ledgerEntry = (row: (typeof account)['ledgerEntries'][number]): Item => {
    const { instanceId = null, volumeId = null, apiKeyId = null } = row.meter ?? {}
    const charged = volumeId === null ? { type: 'Account', id: accountId } : { type: 'Volume', id: volumeId }
    const subject = instanceId === null ? charged : { type: 'Instance', id: instanceId }
    const actorKind = row.kind === 'top_up' || row.kind === 'adjustment' ? 'operator' : apiKeyId ? 'api_key' : 'system'
    return {
      ...{
        __typename: 'LedgerEntry',
        ...row,
        id: `led_${row.id}`,
        kind: upper(row.kind),
        actor: actor({ actorKind, apiKeyId }),
      },
      amount: printUsd(row.amountNanos),
      balanceAfter: printUsd(row.balanceAfterNanos),
      startsAt: row.periodStart,
      endsAt: row.periodEnd,
      costPerHour: row.rateNanos === null ? null : printUsd(row.rateNanos),
      subjectId: printId(subject.type, subject.id),
      subject: () => itemOf(subject.type, printId(subject.type, subject.id)),
    }
  }
  const oldestFirst = <Row extends { id: number }>(rows: Row[]) => rows.toSorted((one, other) => one.id - other.id)
  const apiKeys = newestFirst(account.apiKeys)
    .filter(({ revokedAt }) => revokedAt === null)
    .map(row => ({
      ...{ __typename: 'ApiKey', ...row, id: `key_${row.id}`, name: named(row, 'ApiKey') },
      prefix: `berth_${row.publicId}`,
      spendLimits: oldestFirst(account.spendLimits.filter(({ apiKeyId }) => apiKeyId === row.id)).map(spendLimit),
    }))
  const hosted = machines.filter(({ hostId }) => hostId === accountId)
  const wholeAccount: Item = {
    ...{ __typename: 'Account', ...account, id: `acc_${accountId}`, apiKeys },
    sshKeys: oldestFirst(living(account.sshKeys)).map(sshKey),
    webhooks: oldestFirst(living(account.webhooks)).map(webhook),
    ledger: page(newestFirst(account.ledgerEntries).slice(0, 25).map(ledgerEntry)),
    spendLimits: oldestFirst(account.spendLimits.filter(({ apiKeyId }) => apiKeyId === null)).map(spendLimit),
    hostedMachines: { totalCount: hosted.length, ...page(hosted.slice(0, 25).map(hostedMachine)) },
    secretVariables: account.secretVariables.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  }

  const visibleTemplates = living(templates).filter(row => row.public || row.accountId === accountId)
  const onMarket = offers
    .filter(row => row.withdrawnAt === null && row.leads && row.rentable && row.machine.listedUntil > now)
    .sort((one, other) => Number(one.priceNanos - other.priceNanos) || Number(one.id - other.id))
  const freeDisks = machines
    .filter(row => row.listedUntil > now && row.drainedAt === null && row.freeDiskMb >= 1_000)
    .sort((one, other) => {
      return Number(one.diskPricePerGbMonthNanos - other.diskPricePerGbMonthNanos) || one.id - other.id
    })
  return {
    volumeOffers: ({ first }) => page(freeDisks.slice(0, first).map(volumeOffer)),
    offers: ({ first }) => page(onMarket.slice(0, first).map(offer)),
    instances: ({ first }) =>
      page(
        newestFirst(own(instances).filter(({ destroyedAt }) => !destroyedAt))
          .slice(0, first)
          .map(instance),
      ),
    templates: ({ first }) => page(newestFirst(visibleTemplates).slice(0, first).map(template)),
    volumes: ({ first }) =>
      page(
        newestFirst(own(living(volumes)))
          .slice(0, first)
          .map(volume),
      ),
    events: ({ first }) => page(events.slice(0, first).map(event)),
    gpuModels: () =>
      [...new Map(offers.map(row => [row.machine.gpuModel.name, row.machine.gpuModel])).values()]
        .sort((one, other) => (one.name < other.name ? -1 : 1))
        .map(gpuModel),
    viewer: () => ({ account: wholeAccount }),
    // Nothing is limited in this test.
    rateLimit: () => null,
    node: ({ id }) => {
      const type = Object.keys(prefixes).find(name => id.startsWith(`${prefixes[name]}_`))
      return itemOf(type ?? '', id)
    },
  }
}

function policyOf(row: Policy): Item {
  return {
    ...{ stopAt: row.stopAt, destroyAt: row.destroyAt },
    stopAtCost: row.stopAtCostNanos === null ? null : printUsd(row.stopAtCostNanos),
    destroyAfterStoppedSeconds: row.destroyStoppedMs === null ? null : Number(row.destroyStoppedMs) / 1000,
    stopWhenIdle:
      row.idleSeconds === null ? null : { gpuBelowPercent: row.idleGpuPercent, forSeconds: row.idleSeconds },
  }
}
