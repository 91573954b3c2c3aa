// A request reads only what it asks for. Whatever it leaves out must not change what it gets.

import fc from 'fast-check'
import { type ASTNode, parse, print, visit } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { findIds, makeEverything } from '../../support/faces/everything.ts'
import { queriesOf } from '../../support/faces/whole-schema.ts'
import { muchCredit } from '../../support/instances/rentals.ts'
import { createSeededRandom } from '../../support/seeded-random.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 300)

type Whole = { key: string; query: string; answer: unknown }

let app: TestApp
const wholes: Whole[] = []

beforeAll(async () => {
  app = await startApp()
  const keys = [await app.newKey(null, muchCredit), await app.newKey(null, muchCredit)]
  for (const key of keys) await makeEverything(app, key)
  for (const key of keys) {
    // From now on, `lastUsedAt` of all keys stays the same.
    const queries = queriesOf(await findIds(app, key)).values()
    for (const query of queries) {
      const { data, errors } = await app.graphql(key, query)
      expect(errors, query).toBeUndefined()
      wholes.push({ key, query, answer: data })
    }
  }
}, 120_000)

afterAll(() => app.close())

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
