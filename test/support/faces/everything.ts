import type { TestApp } from '../app.ts'
import { type Rentals, rentalsOf } from '../instances/rentals.ts'
import { makersOf } from './isolation.ts'
import { nodeTypes, queriesOf } from './whole-schema.ts'

/** Gives the account of a key an item of each type, all of them with costs. Returns the id of its running instance. */
export async function makeEverything(app: TestApp, owner: string, rentals: Rentals = rentalsOf(app)): Promise<string> {
  const make = makersOf(app, rentals)
  await make.sshKey(owner)
  await make.spendLimit(owner)
  await make.webhook(owner)
  const template = await make.template(owner)
  const { data } = await app.graphql(
    owner,
    `mutation { rentInstance(input: { offerId: ${await rentals.newOffer()}, terms: { interruptible: { bidPerHour: "0.3" } },
      spec: { source: { template: { by: { id: "${template}" } } }, volumes: [{ source: { create: { sizeGb: 10 } } }] } }) {
      ... on RentInstanceSuccess { instance { id } } } }`,
  )
  await rentals.converge()
  app.clock.advance(3_600_000)
  return data.rentInstance.instance.id
}

/** An item of each type that has an id, found by asking for everything until nothing new comes. */
export async function findIds(app: TestApp, owner: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { __typename: type, id } = value as Record<string, unknown>
    if (typeof type === 'string' && typeof id === 'string' && nodeTypes().includes(type) && !ids.has(type))
      ids.set(type, id)
    for (const one of Object.values(value)) collect(one)
  }
  for (let known = -1; known < ids.size; ) {
    known = ids.size
    for (const query of queriesOf(ids).values()) collect((await app.graphql(owner, query)).data)
  }
  return ids
}
