// For every operation that both faces offer: the request over each face, and the part of the answers that must be equal.

import { type Operation, operationCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import { operationNames } from '../../../src/graphql/accounts/operation-names.ts'
import { fieldsWithPermission } from '../../../src/graphql/permission.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { routes } from '../../../src/rest/routes.ts'
import { aPublicKey } from '../accounts/ssh-keys.ts'
import type { TestApp } from '../app.ts'
import type { Rentals } from '../instances/rentals.ts'
import { subscribeSse } from '../streams.ts'
import { volumesOf } from '../volumes/volumes.ts'

/** The app, and the key of an account that only one agreement uses. */
export type AgreementSite = { app: TestApp; rentals: Rentals; key: string }
// biome-ignore lint/suspicious/noExplicitAny: answers have any shape
type Answer = any
type PreparedIds = { id?: number | string; other?: number | string }

export type Agreement = {
  prepare?: (site: AgreementSite) => Promise<PreparedIds>
  rest: (ids: PreparedIds, site: AgreementSite) => [method: string, path: string, body?: object]
  /** A whole operation for a read. For a change, only the root field with its arguments. */
  graphql: (ids: PreparedIds) => string
} & (
  | {
      reads: true
      /** Both functions extract the same values, each from the answer of its face. */
      normalizeRest: (body: Answer, ids: PreparedIds, site: AgreementSite) => unknown
      normalizeGraphql: (data: Answer, ids: PreparedIds, site: AgreementSite) => unknown
    }
  | { reads?: false }
)

const plainId = (id: string) => Number(id.split('_')[1])
const toSeconds = (instant: string) => Date.parse(instant) / 1000
const anInstance = async ({ rentals, key }: AgreementSite, body: object = {}) => ({ id: await rentals.rent(key, body) })
const aRunningInstance = async ({ rentals, key }: AgreementSite) => ({ id: await rentals.rentToStatus(key, 'running') })
const anSshKey = async ({ app, key }: AgreementSite) => {
  await app.rest(key, 'POST', '/ssh/', { ssh_key: `${aPublicKey('mine')} me@home` })
  // The key may have been registered before, so its id is read from the list.
  const { body } = await app.rest(key, 'GET', '/ssh/')
  return { id: body.at(-1).id as number }
}
const anApiKey = async ({ app, key }: AgreementSite) => {
  const { body } = await app.rest(key, 'POST', '/auth/apikeys/', { name: 'ci', permissions: { api: { misc: {} } } })
  return { id: body.id as number }
}
const aSecret = async ({ app, key }: AgreementSite) => {
  await app.rest(key, 'POST', '/secrets/', { key: 'A', value: 'x' })
  return {}
}
const aTemplate = async ({ app, key }: AgreementSite) => {
  const sent = { name: 'T', image: 'ubuntu', recommended_disk_space: 20, desc: 'D' }
  const { body } = await app.rest(key, 'POST', '/template/', sent)
  return { id: body.template.id as number }
}
const aMachine = async ({ app }: AgreementSite) => ({ id: await volumesOf(app).newMachine() })
const aVolume = async (site: AgreementSite) => {
  const { id } = await aMachine(site)
  const { body } = await site.app.rest(site.key, 'PUT', '/volumes/', { id, size: 20, name: 'v' })
  return { id: body.id as number }
}
const anInstanceAndSshKey = async (site: AgreementSite) => {
  const { id } = await anInstance(site)
  return { id, other: (await anSshKey(site)).id }
}
const anInstanceWithSshKey = async (site: AgreementSite) => {
  const { id: other } = await anSshKey(site)
  return { ...(await anInstance(site)), other }
}

export const agreements: Partial<Record<Operation, Agreement>> = {
  'accounts.viewer': {
    reads: true,
    rest: () => ['GET', '/users/current'],
    graphql: () => '{ viewer { account { id email name credit } } }',
    normalizeRest: ({ id, email, fullname, credit }) => [id, email, fullname, credit],
    normalizeGraphql: ({
      viewer: {
        account: { id, email, name, credit },
      },
    }) => [plainId(id), email, name, Number(credit)],
  },
  'apiKeys.list': {
    reads: true,
    prepare: anApiKey,
    rest: () => ['GET', '/auth/apikeys/'],
    graphql: () => '{ viewer { account { apiKeys { id name createdAt expiresAt permissions { category } } } } }',
    normalizeRest: ({ apikeys }) =>
      apikeys.map((row: Answer) => [
        row.id,
        row.name,
        row.created_at,
        row.expires_at,
        row.permissions && Object.keys(row.permissions.api),
      ]),
    normalizeGraphql: ({ viewer }) =>
      viewer.account.apiKeys.map((node: Answer) => [
        plainId(node.id),
        node.name,
        toSeconds(node.createdAt),
        node.expiresAt,
        node.permissions?.map(({ category }: Answer) =>
          category === 'MARKET_READ' ? 'misc' : category.toLowerCase(),
        ) ?? null,
      ]),
  },
  'apiKeys.create': {
    rest: () => ['POST', '/auth/apikeys/', { name: 'ci', permissions: { api: { misc: {} } } }],
    graphql: () => 'createApiKey(input: { name: "ci", permissions: [{ category: MARKET_READ }] })',
  },
  'apiKeys.reset': {
    // Over REST a key can reset only itself.
    prepare: async ({ app, key: own }) => {
      const { data } = await app.graphql(own, '{ viewer { account { apiKeys { id current } } } }')
      return { id: data.viewer.account.apiKeys.find(({ current }: Answer) => current).id }
    },
    rest: () => ['PUT', '/commands/reset_apikey/', {}],
    graphql: ({ id }) => `rotateApiKeySecret(input: { id: "${id}" })`,
  },
  'apiKeys.revoke': {
    prepare: anApiKey,
    rest: ({ id }) => ['DELETE', `/auth/apikeys/${id}/`],
    graphql: ({ id }) => `deleteApiKey(input: { id: "${id}" })`,
  },
  'billing.ledger': {
    reads: true,
    rest: () => ['GET', '/api/v1/invoices/'],
    graphql: () => '{ viewer { account { ledger(first: 25) { nodes { id amount postedAt } } } } }',
    normalizeRest: ({ results }) => results.map((row: Answer) => [row.metadata.invoice_id, -row.amount, row.end]),
    normalizeGraphql: ({ viewer }) =>
      viewer.account.ledger.nodes.map((node: Answer) => [
        plainId(node.id),
        Number(node.amount),
        toSeconds(node.postedAt),
      ]),
  },
  'billing.usage': {
    reads: true,
    // Creates a charge on the day that both requests name. The id is the start of that day in milliseconds.
    prepare: async site => {
      const { app } = site
      await aRunningInstance(site)
      app.clock.advance(60_000)
      const now = app.clock.now().getTime()
      return { id: now - (now % 86_400_000) }
    },
    rest: ({ id = 0 }) => {
      const day = Number(id) / 1000
      return ['GET', `/charges/?select_filters={"day":{"gte":${day},"lte":${day}}}`]
    },
    graphql: ({ id = 0 }) => {
      const [from, to] = [0, 86_400_000].map(ms => new Date(Number(id) + ms).toISOString())
      return `{ viewer { account { usage(startsAt: "${from}", endsAt: "${to}", groupBy: [INSTANCE]) { totals { keys { value } cost } } } } }`
    },
    normalizeRest: ({ results }) => results.map((row: Answer) => [row.source, row.amount]),
    normalizeGraphql: ({ viewer }) =>
      viewer.account.usage.totals.map((group: Answer) => [
        `instance-${plainId(group.keys[0].value)}`,
        Number(group.cost),
      ]),
  },
  'events.list': {
    reads: true,
    prepare: anInstance,
    rest: () => ['GET', '/audit_logs/'],
    graphql: () =>
      '{ events(last: 25) { nodes { kind subjectId actor { ... on ApiKeyActor { apiKeyId } } createdAt message reason { code } note } } }',
    normalizeRest: body =>
      body.map(({ args, api_key_id, created_at }: Answer) => [
        ...[args.event, args.instance_id, args.message, args.reason, api_key_id, created_at],
      ]),
    normalizeGraphql: ({ events }) =>
      events.nodes
        .map(({ kind, subjectId, message, reason, note, actor, createdAt }: Answer) => [
          ...[
            kind,
            subjectId.startsWith('ins_') ? plainId(subjectId) : null,
            message,
            reason?.code ?? note,
            actor.apiKeyId ? plainId(actor.apiKeyId) : null,
            toSeconds(createdAt),
          ],
        ])
        .toReversed(),
  },
  'instances.attachSshKey': {
    prepare: anInstanceAndSshKey,
    rest: ({ id }) => ['POST', `/instances/${id}/ssh/`, { ssh_key: aPublicKey('mine') }],
    graphql: ({ id, other }) => `attachSshKey(input: { id: "${id}", sshKeyId: "${other}" })`,
  },
  'instances.detachSshKey': {
    prepare: anInstanceWithSshKey,
    rest: ({ id, other }) => ['DELETE', `/instances/${id}/ssh/${other}/`],
    graphql: ({ id, other }) => `detachSshKey(input: { id: "${id}", sshKeyId: "${other}" })`,
  },
  'instances.changeBid': {
    prepare: site => anInstance(site, { price: 0.3 }),
    rest: ({ id }) => ['PUT', `/instances/bid_price/${id}/`, { price: 0.35 }],
    graphql: ({ id }) => `updateInstanceBid(input: { id: "${id}", bidPerHour: "0.35" })`,
  },
  'instances.destroy': {
    prepare: aRunningInstance,
    rest: ({ id }) => ['DELETE', `/instances/${id}/`],
    graphql: ({ id }) => `destroyInstances(input: { target: { ids: ["${id}"] } })`,
  },
  'instances.execute': {
    reads: true,
    prepare: aRunningInstance,
    rest: ({ id }) => ['PUT', `/instances/command/${id}/`, { command: 'echo one' }],
    graphql: ({ id }) =>
      `mutation { executeCommand(input: { id: "${id}", command: "echo one" }) { ... on ExecuteCommandSuccess { output } } }`,
    normalizeRest: ({ result_url }, _ids, { app }) => fetchText(app, result_url),
    normalizeGraphql: ({ executeCommand }) => executeCommand.output,
  },
  'instances.get': {
    reads: true,
    prepare: site => anInstance(site, { label: 'mine', disk: 20 }),
    rest: ({ id }) => ['GET', `/instances/${id}/`],
    graphql: ({ id }) => `{ instance(id: "${id}") { id label status pricePerHour diskGb numGpus gpuName } }`,
    normalizeRest: ({ instances }) => rowOf(instances),
    normalizeGraphql: ({ instance }) => nodeOf(instance),
  },
  'instances.list': {
    reads: true,
    prepare: async site => {
      await anInstance(site)
      return anInstance(site, { label: 'mine', disk: 20 })
    },
    rest: () => ['GET', '/instances/'],
    graphql: () => '{ instances { nodes { id label status pricePerHour diskGb numGpus gpuName } } }',
    normalizeRest: ({ instances }) => instances.map(rowOf),
    normalizeGraphql: ({ instances }) => instances.nodes.map(nodeOf),
  },
  'instances.logs': {
    reads: true,
    prepare: aRunningInstance,
    rest: ({ id }) => ['PUT', `/instances/request_logs/${id}/`, {}],
    graphql: ({ id }) => `{ instance(id: "${id}") { id } }`,
    normalizeRest: async ({ result_url }, _ids, { app }) =>
      (await fetchText(app, result_url)).trimEnd().split('\n').slice(0, 3),
    normalizeGraphql: async (_data, { id }, { app, key: own }) => {
      const lines = await subscribeSse(app.fetch, own, `subscription { instanceLogs(id: "${id}") { text } }`)
      const first = [await lines.next(), await lines.next(), await lines.next()]
      await lines.close()
      return first.map(line => line?.data.instanceLogs.text)
    },
  },
  'instances.reboot': {
    prepare: aRunningInstance,
    rest: ({ id }) => ['PUT', `/instances/reboot/${id}/`, {}],
    graphql: ({ id }) => `rebootInstance(input: { id: "${id}" })`,
  },
  'instances.recycle': {
    prepare: aRunningInstance,
    rest: ({ id }) => ['PUT', `/instances/recycle/${id}/`, {}],
    graphql: ({ id }) => `recycleInstance(input: { id: "${id}" })`,
  },
  'instances.rent': {
    prepare: async ({ rentals }) => ({ id: await rentals.newOffer() }),
    rest: ({ id }) => ['PUT', `/asks/${id}/`, { image: 'ubuntu', label: 'mine' }],
    graphql: ({ id }) =>
      `rentInstance(input: { offerId: "${id}", spec: { source: { image: "ubuntu" }, label: "mine" } })`,
  },
  'instances.update': {
    prepare: aRunningInstance,
    rest: ({ id }) => ['PUT', `/instances/${id}/`, { state: 'stopped' }],
    graphql: ({ id }) => `stopInstance(input: { id: "${id}" })`,
  },
  'offers.search': {
    reads: true,
    prepare: async ({ rentals }) => ({ id: await rentals.newOffer({ numGpus: 4 }) }),
    rest: () => ['POST', '/bundles/', { num_gpus: { gte: 2 }, order: [['dph_total', 'desc']], limit: 5 }],
    graphql:
      () => `{ offers(filter: { numGpus: { gte: 2 } }, orderBy: [{ field: PRICE_PER_HOUR, direction: DESC }], first: 5) {
      nodes { id numGpus price { pricePerHour } } } }`,
    normalizeRest: ({ offers }) => offers.map(({ id, num_gpus, dph_total }: Answer) => [id, num_gpus, dph_total]),
    normalizeGraphql: ({ offers }) =>
      offers.nodes.map(({ id, numGpus, price }: Answer) => [plainId(id), numGpus, Number(price.pricePerHour)]),
  },
  'secretVariables.list': {
    reads: true,
    prepare: aSecret,
    rest: () => ['GET', '/secrets/'],
    graphql: () => '{ viewer { account { secretVariables { name } } } }',
    normalizeRest: ({ secrets }) => Object.keys(secrets),
    normalizeGraphql: ({ viewer }) => viewer.account.secretVariables.map(({ name }: Answer) => name),
  },
  'secretVariables.set': {
    rest: () => ['POST', '/secrets/', { key: 'B', value: 'y' }],
    graphql: () => 'updateSecretVariables(input: { variables: [{ name: "B", value: "y" }] })',
  },
  'secretVariables.delete': {
    prepare: aSecret,
    rest: () => ['DELETE', '/secrets/', { key: 'A' }],
    graphql: () => 'deleteSecretVariables(input: { names: ["A"] })',
  },
  'machines.hosted': {
    reads: true,
    prepare: async site => {
      const { body } = await site.app.rest(site.key, 'GET', '/users/current')
      const { id } = await aMachine(site)
      await site.app.sql(`UPDATE machines SET host_id = ${body.id} WHERE id = ${id}`)
      await aMachine(site)
      return { id }
    },
    rest: () => ['GET', '/machines/'],
    graphql:
      () => `{ viewer { account { hostedMachines { nodes { machine { id numGpus totalDiskGb } freeGpus instanceCount
      runningInstanceCount pricePerGpuHour minimumBidPerGpuHour diskPricePerGbMonth listed listedUntil } } } } }`,
    normalizeRest: ({ machines }) =>
      machines.map((row: Answer) => [
        ...[
          row.id,
          row.num_gpus,
          row.disk_space,
          row.gpu_occupancy.split(' ').filter((gpu: string) => gpu === 'x').length,
        ],
        ...[row.current_rentals_resident, row.current_rentals_running],
        ...[row.listed_gpu_cost, row.min_bid_price, row.listed_storage_cost, row.listed, row.end_date],
      ]),
    normalizeGraphql: ({ viewer }) =>
      viewer.account.hostedMachines.nodes.map(({ machine, ...node }: Answer) => [
        ...[plainId(machine.id), machine.numGpus, machine.totalDiskGb, node.freeGpus],
        ...[node.instanceCount, node.runningInstanceCount],
        ...[Number(node.pricePerGpuHour), Number(node.minimumBidPerGpuHour), Number(node.diskPricePerGbMonth)],
        ...[node.listed, toSeconds(node.listedUntil)],
      ]),
  },
  'sshKeys.list': {
    reads: true,
    prepare: anSshKey,
    rest: () => ['GET', '/ssh/'],
    graphql: () => '{ viewer { account { sshKeys { id name publicKey fingerprint createdAt } } } }',
    normalizeRest: body =>
      body.map((row: Answer) => [row.id, row.name, row.public_key, row.fingerprint, row.created_at]),
    normalizeGraphql: ({ viewer }) =>
      viewer.account.sshKeys.map((node: Answer) => [
        ...[plainId(node.id), node.name, node.publicKey, node.fingerprint, toSeconds(node.createdAt)],
      ]),
  },
  'sshKeys.register': {
    rest: () => ['POST', '/ssh/', { ssh_key: `${aPublicKey('new')} me@home` }],
    graphql: () => `createSshKey(input: { publicKey: "${aPublicKey('new')} me@home" })`,
  },
  'sshKeys.replace': {
    prepare: anSshKey,
    rest: ({ id }) => ['PUT', `/ssh/${id}/`, { ssh_key: aPublicKey('new') }],
    graphql: ({ id }) => `updateSshKey(input: { id: "${id}", publicKey: "${aPublicKey('new')}" })`,
  },
  'sshKeys.delete': {
    prepare: anSshKey,
    rest: ({ id }) => ['DELETE', `/ssh/${id}/`],
    graphql: ({ id }) => `deleteSshKey(input: { id: "${id}" })`,
  },
  'templates.list': {
    reads: true,
    prepare: aTemplate,
    rest: () => ['GET', '/template/'],
    graphql: () => '{ templates { nodes { id hashId name image description diskGb public createdAt } } }',
    normalizeRest: ({ templates }) =>
      templates.map((row: Answer) => [
        ...[
          row.id,
          row.hash_id,
          row.name,
          row.image,
          row.desc,
          row.recommended_disk_space,
          !row.private,
          row.created_at,
        ],
      ]),
    normalizeGraphql: ({ templates }) =>
      templates.nodes.map((node: Answer) => [
        ...[plainId(node.id), node.hashId, node.name, node.image, node.description, node.diskGb, node.public],
        toSeconds(node.createdAt),
      ]),
  },
  'templates.save': {
    rest: () => ['POST', '/template/', { name: 'N', image: 'ubuntu', recommended_disk_space: 20 }],
    graphql: () => 'createTemplate(input: { name: "N", image: "ubuntu", diskGb: 20 })',
  },
  'templates.delete': {
    prepare: aTemplate,
    rest: ({ id }) => ['DELETE', '/template/', { template_id: id }],
    graphql: ({ id }) => `deleteTemplate(input: { id: "${id}" })`,
  },
  'volumes.list': {
    reads: true,
    prepare: aVolume,
    rest: () => ['GET', '/volumes/'],
    graphql: () => '{ volumes { nodes { id name sizeGb pricePerHour createdAt } } }',
    normalizeRest: ({ volumes }) =>
      volumes.map((row: Answer) => [row.id, row.label, row.disk_space, row.storage_total_cost, row.start_date]),
    normalizeGraphql: ({ volumes }) =>
      volumes.nodes.map((node: Answer) => [
        ...[plainId(node.id), node.name, node.sizeGb, Number(node.pricePerHour), toSeconds(node.createdAt)],
      ]),
  },
  'volumes.search': {
    reads: true,
    prepare: aMachine,
    rest: ({ id }) => ['POST', '/volumes/search/', { machine_id: { eq: id }, allocated_storage: 20 }],
    graphql: ({ id }) =>
      `{ volumeOffers(filter: { machineId: { eq: "${id}" } }, sizeGb: 20) { nodes { id maxSizeGb price(sizeGb: 20) { sizeGb pricePerHour } } } }`,
    normalizeRest: ({ offers }) =>
      offers.map((row: Answer) => [row.id, row.allocated_storage, row.disk_space, row.storage_total_cost]),
    normalizeGraphql: ({ volumeOffers }) =>
      volumeOffers.nodes.map((node: Answer) => [
        ...[plainId(node.id), node.price.sizeGb, node.maxSizeGb, Number(node.price.pricePerHour)],
      ]),
  },
  'volumes.create': {
    prepare: aMachine,
    rest: ({ id }) => ['PUT', '/volumes/', { id, size: 20, name: 'v' }],
    graphql: ({ id }) => `createVolume(input: { offerId: "${id}", sizeGb: 20, name: "v" })`,
  },
  'volumes.delete': {
    prepare: aVolume,
    rest: ({ id }) => ['DELETE', `/volumes/?id=${id}`],
    graphql: ({ id }) => `deleteVolume(input: { id: "${id}" })`,
  },
}

function rowOf({ id, label, actual_status, dph_total, disk_space, num_gpus, gpu_name }: Answer): unknown[] {
  return [id, label, actual_status, dph_total, disk_space, num_gpus, gpu_name]
}

function nodeOf({ id, label, status, pricePerHour, diskGb, numGpus, gpuName }: Answer): unknown[] {
  return [
    plainId(id),
    label,
    status === 'SCHEDULING' ? null : status.toLowerCase(),
    Number(pricePerHour),
    diskGb,
    numGpus,
    gpuName,
  ]
}

async function fetchText(app: TestApp, url: string): Promise<string> {
  return await app.fetch(new Request(url)).then(answer => answer.text())
}

/** The operations of routes that a field requires, too. */
export function listSharedOperations(): Operation[] {
  const ofFields = new Set(fieldsWithPermission(schema).flatMap(({ requirement }) => requirement.permissions))
  const ofRoutes = new Set(routes.map(({ operation }) => operation))
  return (Object.keys(operationCategories) as Operation[]).filter(
    name => ofFields.has(operationNames[name]) && ofRoutes.has(name),
  )
}
