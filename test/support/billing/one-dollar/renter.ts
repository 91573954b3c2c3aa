// Requests of a renter over GraphQL, and what the renter sees. Each gateway answers some of them.

import { parseUsd, printUsd } from '../../../../src/domain/money.ts'
import type { TestApp } from '../../app.ts'
import type { Seen, View } from './tab.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
export type Answer = any

export const nanosOf = (amount: string) => parseUsd(amount) as bigint
export const usdOf = (nanos: bigint) => printUsd(nanos)

export const rented = 'instance { id pricePerHour diskPricePerHour endsAt volumes { volume { id pricePerHour } } }'
const success = {
  rentInstance: `... on RentInstanceSuccess { ${rented} }`,
  rentBestOffer: `... on RentBestOfferSuccess { ${rented} }`,
  createVolume: '... on CreateVolumeSuccess { volume { id pricePerHour } }',
  startInstances: '... on StartInstancesSuccess { items { instanceId outcome } }',
  stopInstances: '... on StopInstancesSuccess { items { instanceId outcome } }',
}

const viewQuery = `{
  viewer { account { credit } }
  instances(first: 100) { nodes {
    id status targetState accruedCost pricePerHour diskPricePerHour endsAt
    replaces { id replaces { id replaces { id replaces { id } } } }
  } }
  volumes(first: 100) { nodes { id pricePerHour } }
}`

export function createRenter(gateways: readonly TestApp[], key: string) {
  async function ask(gateway: number, query: string, variables = {}): Promise<Answer> {
    const app = gateways[gateway % gateways.length] as TestApp
    const { data, errors } = await app.graphql(key, query, variables)
    if (errors) throw new Error(JSON.stringify(errors))
    return data
  }

  return {
    ask,
    /** Returns the answer. `__typename` says whether it succeeded. */
    async mutate(gateway: number, name: string, input: object): Promise<Answer> {
      const selection = success[name as keyof typeof success] ?? ''
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) {
        __typename ... on Error { code message } ${selection} } }`
      return (await ask(gateway, query, { input }))[name]
    },
    async quote(gateway: number, input: object): Promise<Answer> {
      const query = `query ($input: RentInstanceInput!) { rentQuote(input: $input) {
        gpuPricePerHour diskPricePerHour volumesPricePerHour } }`
      return (await ask(gateway, query, { input })).rentQuote
    },
    async quoteVolume(gateway: number, machineId: string, sizeGb: number): Promise<string | undefined> {
      const query = `query ($sizeGb: Float!, $id: ID!) {
        volumeOffers(first: 1, sizeGb: $sizeGb, filter: { machineId: { eq: $id } }) {
          nodes { price(sizeGb: $sizeGb) { pricePerHour } } } }`
      const { volumeOffers } = await ask(gateway, query, { sizeGb, id: machineId })
      return volumeOffers.nodes[0]?.price.pricePerHour
    },
    async look(gateway: number): Promise<View> {
      const { viewer, instances, volumes } = await ask(gateway, viewQuery)
      const seen = [...instances.nodes.map(seenInstance), ...volumes.nodes.map(seenVolume)]
      return { creditNanos: nanosOf(viewer.account.credit), items: new Map(seen.map((one: Seen) => [one.id, one])) }
    },
  }
}

export type Renter = ReturnType<typeof createRenter>

function seenInstance(node: Answer): Seen {
  return {
    ...{ id: node.id, status: node.status, targetState: node.targetState, ancestors: ancestorsOf(node) },
    ...{ priceNanos: nanosOf(node.pricePerHour), diskNanos: nanosOf(node.diskPricePerHour) },
    ...{ accruedNanos: nanosOf(node.accruedCost), endsAtMs: Date.parse(node.endsAt) },
  }
}

function seenVolume({ id, pricePerHour }: Answer): Seen {
  return { id, priceNanos: nanosOf(pricePerHour), diskNanos: nanosOf(pricePerHour) }
}

function ancestorsOf({ replaces }: Answer): string[] {
  return replaces ? [replaces.id, ...ancestorsOf(replaces)] : []
}
