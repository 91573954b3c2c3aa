// A request reads only what it asks for. Whatever it leaves out must not change what it gets, and all of it must be what the
// tables have.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import {
  type ASTNode,
  buildSchema,
  type GraphQLNamedType,
  getNamedType,
  graphql,
  isInterfaceType,
  isLeafType,
  isObjectType,
  parse,
  print,
  visit,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { subjectTypes } from '../../../src/domain/events/subject.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { urlAs } from '../../support/database/roles.ts'
import { findIds, makeEverything, replaceInstance } from '../../support/faces/everything.ts'
import { notOfTables, type Reference, referenceFor } from '../../support/faces/reference.ts'
import { queriesOf } from '../../support/faces/whole-schema.ts'
import { muchCredit } from '../../support/instances/rentals.ts'
import { createSeededRandom, type SeededRandom } from '../../support/seeded-random.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 300)

type Whole = { key: string; query: string; answer: unknown }

let app: TestApp
let database: Database
let keys: string[]
let references: Reference[]
/** The ids of the items of each account, by their types. */
const itemIds: Map<string, string[]>[] = []
/** The schema without resolvers: each field is the property of its object. */
const plainSchema = buildSchema(readFileSync('schema.graphql', 'utf8'))
const wholes: Whole[] = []

beforeAll(async () => {
  app = await startApp()
  keys = [await app.newKey(null, muchCredit), await app.newKey(null, muchCredit)]
  const accountIds: number[] = []
  for (const key of keys) {
    await replaceInstance(app, key)
    await makeEverything(app, key)
    const { data } = await app.graphql(key, '{ viewer { account { id webhooks { id } } } }')
    const { id, webhooks } = data.viewer.account
    accountIds.push(Number(id.slice('acc_'.length)))
    for (const webhook of webhooks)
      await app.graphql(key, `mutation { testWebhook(input: { id: "${webhook.id}" }) { __typename } }`)
  }
  // Each account hosts half of the machines, with rentals of its own and of the other.
  for (const [index, accountId] of accountIds.entries())
    await app.sql(`UPDATE machines SET host_id = ${accountId} WHERE id % 2 = ${index}`)
  references = []
  database = openDatabase({ url: urlAs('app', app.database.url), poolSize: 1, onIdleError: () => {} })
  for (const [index, key] of keys.entries()) {
    const accountId = accountIds[index] as number
    references.push(await referenceFor(database.prisma, accountId, app.clock.now()))
    const { data: known } = await app.graphql(key, allIds)
    itemIds.push(idsIn(known))
    // From now on, `lastUsedAt` of all keys stays the same.
    const queries = queriesOf(await findIds(app, key)).values()
    for (const query of queries) {
      const { data, errors } = await app.graphql(key, query)
      expect(errors, query).toBeUndefined()
      wholes.push({ key, query, answer: data })
    }
  }
}, 120_000)

afterAll(async () => {
  await database.close()
  await app.close()
})

describe('a part of a query', () => {
  it(
    'is answered as in the whole query',
    async () => {
      const property = fc.asyncProperty(fc.nat(wholes.length - 1), fc.integer(), async (index, choices) => {
        const { key, query, answer } = wholes[index] as Whole
        const part = partOf(query, choices)
        const { data, errors } = await app.graphql(key, part)
        expect(errors, part).toBeUndefined()
        expect(data, part).toEqual(answerOfPart(answer, data))
      })
      await fc.assert(property, { seed, numRuns })
    },
    20_000 + 200 * numRuns,
  )
})

describe('a query', () => {
  it(
    'is answered as by a naive reading of all rows',
    async () => {
      const property = fc.asyncProperty(fc.nat(1), fc.integer(), async (who, choices) => {
        const query = randomQuery(createSeededRandom(choices))
        const { data, errors } = await app.graphql(keys[who], query)
        expect(errors, query).toBeUndefined()
        const expected = await graphql({ schema: plainSchema, source: query, rootValue: references[who] })
        expect(expected.errors, query).toBeUndefined()
        // As it is sent: dates as text, and objects with prototypes.
        expect(data, query).toEqual(JSON.parse(JSON.stringify(expected.data)))
      })
      await fc.assert(property, { seed, numRuns })
    },
    20_000 + 200 * numRuns,
  )
})

describe('a mutation', () => {
  it.each(Object.entries(mutations))(
    '%s is answered as by a naive reading of its item',
    async (name, typeName) => {
      const property = fc.asyncProperty(fc.nat(1), fc.nat(), fc.integer(), async (who, index, choices) => {
        const ids = itemIds[who]?.get(typeName) ?? []
        const field = `${typeName[0]?.toLowerCase()}${typeName.slice(1)}`
        const success = `${name[0]?.toUpperCase()}${name.slice(1)}Success`
        const selection = randomSelection(typeName, createSeededRandom(choices), 2)
        const query = `mutation { ${name}(input: { id: "${ids[index % ids.length]}" }) { __typename ... on ${success} { ${field} ${selection} } } }`
        const { data, errors } = await app.graphql(keys[who], query)
        expect(errors, query).toBeUndefined()
        const rootValue = {
          [name]: ({ input }: { input: { id: string } }) => ({
            __typename: success,
            [field]: references[who]?.['node']?.({ ...input, first: 1 }),
          }),
        }
        const expected = await graphql({ schema: plainSchema, source: query, rootValue })
        expect(data, query).toEqual(JSON.parse(JSON.stringify(expected.data)))
      })
      await fc.assert(property, { seed, numRuns: numRuns / 10 })
    },
    20_000 + 20 * numRuns,
  )
})

it('is compared in every field but those that are not of tables', () => {
  const unknown = notOfTables.filter(name => {
    const [typeName = '', field = ''] = name.split('.')
    const type = plainSchema.getType(typeName)
    return !isObjectType(type) || !(field in type.getFields())
  })
  expect(unknown).toEqual([])
})

const roots: Record<string, string> = {
  offers: 'Offer',
  instances: 'Instance',
  templates: 'Template',
  volumes: 'Volume',
  volumeOffers: 'VolumeOffer',
  events: 'Event',
}

/** Mutations, with the type of their item. The test below sends them without a change, so they change nothing. */
const mutations = {
  ...{ updateApiKey: 'ApiKey', updateSpendLimit: 'SpendLimit', updateSshKey: 'SshKey', updateWebhook: 'Webhook' },
  startInstance: 'Instance',
}

const allIds = `{ instances(first: 5) { nodes { __typename id } } viewer { account {
  webhooks { __typename id } sshKeys { __typename id } spendLimits { __typename id }
  apiKeys { __typename id spendLimits { __typename id } } } } }`

function idsIn(value: unknown, found = new Map<string, string[]>()): Map<string, string[]> {
  if (typeof value !== 'object' || value === null) return found
  const { __typename: type, id } = value as { __typename?: string; id?: string }
  if (type && id) found.set(type, [...(found.get(type) ?? []), id])
  for (const one of Object.values(value)) idsIn(one, found)
  return found
}

function randomQuery(random: SeededRandom): string {
  const root = random.pick(Object.keys(roots)) ?? 'offers'
  const item = () => randomSelection(roots[root] ?? '', random, 3)
  const [nodes, edges] = [`nodes ${item()}`, `edges { node ${item()} }`]
  const pages = `${root}(first: ${random.between(1, 5)}) { ${random.pick([nodes, edges, `${nodes} ${edges}`])} }`
  const others = [
    `gpuModels ${randomSelection('GpuModel', random, 1)}`,
    `viewer { account ${randomSelection('Account', random, 2)} }`,
  ]
  return `{ ${[pages, ...others].filter((_, index) => index === 0 || random.withProbability(0.3)).join(' ')} }`
}

/** Some fields of a type, and of the items in them down to a depth. Some have another name, some are in a fragment. */
function randomSelection(typeName: string, random: SeededRandom, depth: number): string {
  const type = plainSchema.getType(typeName)
  if (typeName === 'Node') {
    const name = random.pick(subjectTypes) ?? 'Instance'
    // An account has many items, so a level less stays below the limit of the cost.
    return `{ __typename ... on ${name} ${randomSelection(name, random, Math.max(depth - 1, 0))} }`
  }
  if (isInterfaceType(type)) {
    const parts = plainSchema.getPossibleTypes(type).map(({ name }) => [name, randomSelection(name, random, depth)])
    return `{ ${parts.map(([name, selection]) => `... on ${name} ${selection}`).join(' ')} }`
  }
  if (!isObjectType(type)) throw new Error(`${typeName} is no object type.`)
  const fields = Object.values(type.getFields()).flatMap(({ name, type: output }) => {
    if (notOfTables.includes(`${typeName}.${name}`) || !random.withProbability(0.4)) return []
    const below: GraphQLNamedType = getNamedType(output)
    if (!isLeafType(below) && depth === 0) return []
    // Others of the same type have leaves alone, so that the whole stays below the limits of its size.
    const depthBelow = below.name === typeName ? 0 : depth - 1
    const field = `${name}${isLeafType(below) ? '' : ` ${randomSelection(below.name, random, depthBelow)}`}`
    const named = random.withProbability(0.05) ? `other_${name}: ${field}` : field
    return random.withProbability(0.1) ? `... on ${typeName} { ${named} }` : named
  })
  return `{ __typename ${fields.join(' ')} }`
}

/** The query with some of its fields. Each selection keeps at least one, and the first remaining fragment of each type. */
function partOf(query: string, choices: number): string {
  const random = createSeededRandom(choices)
  const share = random.pick([0.1, 0.5, 0.9]) ?? 0.5
  const thinned: ASTNode = visit(parse(query), {
    SelectionSet: {
      enter(node) {
        const kept = node.selections.filter(() => random.withProbability(share))
        const one = random.pick(node.selections)
        return { ...node, selections: kept.length > 0 || !one ? kept : [one] }
      },
    },
  })
  return print(thinned)
}

/** What the whole answer has where the part has something. */
function answerOfPart(whole: unknown, part: unknown): unknown {
  if (Array.isArray(part) && Array.isArray(whole)) {
    expect(whole).toHaveLength(part.length)
    return part.map((one, index) => answerOfPart(whole[index], one))
  }
  if (typeof part !== 'object' || part === null || typeof whole !== 'object' || whole === null) return whole
  // A part may ask of some types alone, so an item can lack what the part asks of others.
  const entries = Object.entries(part)
  return Object.fromEntries(
    entries.map(([name, one]) => [name, answerOfPart((whole as Record<string, unknown>)[name], one)]),
  )
}
