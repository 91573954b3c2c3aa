// Queries are answered as by Yoga's own executor, which executes all other operations: with all values, and with all errors in
// their order and at their places.

import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  buildSchema,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  getIntrospectionQuery,
  isInterfaceType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { createYoga } from 'graphql-yoga'
import { describe, expect, it } from 'vitest'
import { executeQuery } from '../../../src/graphql/execution/execute.ts'
import { createSeededRandom, type SeededRandom } from '../../support/seeded-random.ts'

const schema = buildSchema(`
  type Query { thing: Thing strict: Thing! many: [Thing] all: [Thing!]! any: Any anything: [Any!] matrix: [[Int!]]! sum(of: Input): Int }
  interface Any { id: ID! other: Any }
  type Thing implements Any {
    id: ID! other: Any next: Thing near: Thing! list: [Thing!] count: Int! maybe: String color: Color strictList: [Int!]!
    echo(text: String = "none", number: Int, among: Color! = RED, input: Input): String
    need(number: Int!): String
  }
  type Place implements Any { id: ID! other: Any place: String! }
  input Input { one: Int! other: [String!] = ["x"] }
  enum Color { RED GREEN }
  type Mutation { do: Int }
`)

const { execute: executeOtherwise } = createYoga({ schema, maskedErrors: false, logging: false }).getEnveloped({})

/** What a field answers depends on its place and the context alone, so that both executions see the same. */
const resolve: GraphQLFieldResolver<unknown, number> = (_source, args, context, info) => {
  const isSlow = context % 2 === 0
  const random = createSeededRandom(context + hashOf(placeOf(info)))
  const failure = failureOf(random)
  const value = failure ? undefined : valueFor(random, info, { args, isSlow })
  if (isSlow && random.withProbability(0.3)) return failure ? Promise.reject(failure) : Promise.resolve(value)
  if (failure) throw failure
  return value
}

function failureOf(random: SeededRandom): Error | undefined {
  if (!random.withProbability(0.06)) return undefined
  return random.withProbability(0.5)
    ? new Error('It failed.')
    : new GraphQLError('Refused.', { extensions: { code: 'NO' } })
}

type Call = { args: object; isSlow: boolean }

function valueFor(random: SeededRandom, info: GraphQLResolveInfo, { args, isSlow }: Call): unknown {
  if (random.withProbability(0.04)) return null
  if (random.withProbability(0.03)) return new Error('An error as a value.')
  const type = String(info.returnType)
  const typeNames = type.includes('Any') ? ['Thing', 'Place', 'Nothing', 'Thing'] : ['Thing']
  const one = () => ({ __typename: random.pick(typeNames) })
  if (/Thing|Any/.test(type)) return type.includes('[') ? manyOf(random, isSlow, one) : one()
  return leafOf(random, info, args)
}

function leafOf(random: SeededRandom, { fieldName, variableValues, fieldNodes }: GraphQLResolveInfo, args: object) {
  switch (fieldName) {
    case 'echo':
    case 'need':
      return JSON.stringify([args, variableValues, fieldNodes.length])
    case 'matrix':
      return [[1, 2], null, random.withProbability(0.3) ? [3, null] : [4]]
    case 'strictList':
      return random.withProbability(0.2) ? 'no list' : new Set([1, random.withProbability(0.2) ? 'x' : 2])
    case 'color':
      return random.pick(['RED', 'GREEN', 'NONE'])
    default:
      return random.pick([1, 2.5, '3', 'text'])
  }
}

/** Items are all promises or all none: Yoga's executor leaves errors unhandled if one item fails before another. */
function manyOf(random: SeededRandom, isSlow: boolean, one: () => unknown): unknown[] {
  const item = () => {
    if (random.withProbability(0.05)) return null
    return random.withProbability(0.05) ? new Error('An item failed.') : one()
  }
  return Array.from({ length: random.between(0, 3) }, () => (isSlow ? Promise.resolve(item()) : item()))
}

for (const type of Object.values(schema.getTypeMap())) {
  if (!isObjectType(type) || type.name.startsWith('__')) continue
  for (const field of Object.values(type.getFields())) field.resolve = resolve
}

function placeOf({ path }: GraphQLResolveInfo): string {
  let place = ''
  for (let step: GraphQLResolveInfo['path'] | undefined = path; step; step = step.prev)
    place += `/${step.key}:${step.typename}`
  return place
}

function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 2 ** 30, 7)
}

const aliases = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__typename_', 'a'.repeat(64), 'prototype']
const directives = [
  '',
  '',
  '',
  '',
  '',
  '',
  '@skip(if: $yes)',
  '@include(if: $yes)',
  '@include(if: true)',
  '@skip(if: $no)',
]
const texts = [
  '"a\\"b\\\\c`$1"',
  '"\\u2028 \\u0000 漢"',
  '"""block " \\ ` $x"""',
  '$text',
  'null',
  '"__proto__"',
  '$none',
]

function randomSelection(name: string, random: SeededRandom, depth: number): string {
  const type = schema.getType(name)
  if (!isObjectType(type) && !isInterfaceType(type)) return ''
  const fields = Object.values(type.getFields()).flatMap(field => {
    const inner = String(field.type).replaceAll(/[[\]!]/g, '')
    const isLeaf = !['Thing', 'Any', 'Place'].includes(inner)
    if (!random.withProbability(0.5) || (!isLeaf && depth === 0)) return []
    const alias = random.withProbability(0.1) ? `${random.pick(aliases)}: ` : ''
    const selection = isLeaf ? '' : randomSelection(inner, random, depth - 1)
    const text = `${alias}${field.name}${randomArguments(field.name, random)} ${random.pick(directives)} ${selection}`
    return random.withProbability(0.1) ? [text, text] : [text]
  })
  const fragments = ['Thing', 'Place', 'Any']
    .filter(other => other === name || name === 'Any')
    .flatMap(other =>
      depth > 0 && random.withProbability(0.4)
        ? [`... on ${other} ${random.pick(directives)} ${randomSelection(other, random, depth - 1)}`]
        : [],
    )
  const spread = name !== 'Query' && random.withProbability(0.2) ? ['...Common', '...Common'] : []
  return `{ __typename ${[...fields, ...fragments, ...spread].join(' ')} }`
}

function randomArguments(name: string, random: SeededRandom): string {
  if (name === 'need') return `(number: ${random.pick(['1', '$number', '$many'])})`
  if (name === 'sum') return random.pick(['', '(of: { one: 1 })', '(of: $input)', '(of: { one: $number })']) ?? ''
  if (name !== 'echo') return ''
  return `(text: ${random.pick(texts)}, input: ${random.pick(['$input', '{ one: 1, other: "y" }', '{ one: $number }'])})`
}

const header =
  '($yes: Boolean = true, $no: Boolean = false, $text: String, $none: String, $number: Int = 3, $many: Int = 1, $input: Input)'

function randomVariables(random: SeededRandom): Record<string, unknown> {
  const some: [string, unknown[]][] = [
    ['yes', [true, false, true, false, null]],
    ['no', [true, false]],
    ['text', ['__proto__', 'a"b\\c`$1', null]],
    ['number', [1, 2, null, 'x']],
    ['many', [1, null]],
    ['input', [{ one: 1 }, { one: 2, other: 'single' }, null, { one: 'x' }]],
  ]
  return Object.fromEntries(
    some.flatMap(([name, values]) => (random.withProbability(0.3) ? [[name, random.pick(values)]] : [])),
  )
}

/** As it is sent, with what the gateway reads of errors. */
async function answerOf(result: unknown) {
  const { data, errors } = (await result) as ExecutionResult
  const read = errors?.map(error => ({
    ...error.toJSON(),
    original: error.originalError?.message,
    isRefusal: error.originalError instanceof GraphQLError,
  }))
  return { data: JSON.stringify(data), errors: read }
}

describe('a query', () => {
  it('is answered as by the executor of Yoga', async () => {
    const seen = { valid: 0, executed: 0, failed: 0, nothing: 0 }
    const property = fc.asyncProperty(fc.integer({ min: 1 }), async seed => {
      const random = createSeededRandom(seed)
      const query = `query ${header} ${randomSelection('Query', random, 3)} fragment Common on Any { id same: __typename }`
      const document = parse(query)
      if (validate(schema, document).some(error => !/never used/.test(error.message))) return
      seen.valid += 1
      const args: ExecutionArgs = { schema, document, contextValue: seed, variableValues: randomVariables(random) }
      const expected = await answerOf(executeOtherwise(args))
      const result = executeQuery(args)
      if (!result) {
        // Queries with invalid variables are left to Yoga, so there is nothing to compare.
        expect(expected.data).toBeUndefined()
        return
      }
      seen.executed += 1
      seen.failed += Number(expected.errors !== undefined)
      seen.nothing += Number(expected.data === 'null')
      const answer = await answerOf(result)
      expect(answer.data, query).toEqual(expected.data)
      // Other fields of an object that is null already may fail before the answer is sent, or after.
      const certain = seed % 2 === 0 ? certainErrors(expected.data) : (errors: Errors) => errors
      expect(certain(answer.errors?.map(comparable)), query).toEqual(certain(expected.errors?.map(comparable)))
      expect(answer.errors === undefined).toBe(expected.errors === undefined)
    })
    await fc.assert(property, { numRuns: Number(process.env['FC_RUNS'] ?? 1_000) })
    expect(seen.failed, JSON.stringify(seen)).toBeGreaterThan(100)
    expect(seen.nothing).toBeGreaterThan(20)
    expect(seen.executed - seen.failed).toBeGreaterThan(10)
  }, 60_000)

  it('is introspected as by the executor of Yoga', async () => {
    const args = { schema, document: parse(getIntrospectionQuery()) }
    expect(await answerOf(executeQuery(args) ?? {})).toEqual(await answerOf(executeOtherwise(args)))
    const one = { schema, document: parse('{ __type(name: "Thing") { name } __typename }') }
    expect(await answerOf(executeQuery(one) ?? {})).toEqual(await answerOf(executeOtherwise(one)))
  })
})

/** No client sees messages about mistakes of the gateway, and they may differ. */
function comparable({ message, path, ...error }: { message: string; path?: Path }): Comparable {
  const isMistake = /^(Abstract type|Runtime Object type|Expected|\w+ has no type)/.test(message)
  return isMistake ? { path } : { ...error, path, message }
}

type Path = readonly (string | number)[] | undefined
type Comparable = { path: Path } & Record<string, unknown>
type Errors = Comparable[] | undefined

/** The errors of values that are null themselves, in the order of their places. */
function certainErrors(data: string): (errors: Errors) => unknown {
  const isNull = (path: Path) => {
    let value: unknown = JSON.parse(data)
    for (const step of path ?? []) {
      if (value === null) return false
      value = (value as Record<string, unknown>)[step]
    }
    return value === null
  }
  return errors =>
    errors
      ?.filter(({ path }) => isNull(path))
      .map(error => JSON.stringify(error))
      .sort()
}

it('takes an alias "then" for a name like any other, which the executor of Yoga does not', async () => {
  const result = await executeQuery({ schema, document: parse('{ then: __typename }') })
  expect(JSON.stringify(result)).toBe('{"data":{"then":"Query"}}')
})

it('leaves mutations, and queries that cannot run, to the executor of Yoga', () => {
  const rest = ['mutation { do }', 'query ($input: Input!) { sum(of: $input) }', 'fragment F on Thing { id }']
  for (const text of rest) expect(executeQuery({ schema, document: parse(text) }), text).toBeUndefined()
})

it('gives each execution places of its own', async () => {
  const places = new Set<unknown>()
  const type = schema.getQueryType()
  const field = type?.getFields()['sum']
  if (!field) throw new Error('There is no field.')
  const before = field.resolve
  field.resolve = (_source, _args, _context, { fieldNodes }) => places.add(fieldNodes).size
  const document = parse('{ sum }')
  try {
    expect(await executeQuery({ schema, document })).toMatchObject({ data: { sum: 1 } })
    expect(await executeQuery({ schema, document })).toMatchObject({ data: { sum: 2 } })
  } finally {
    if (before) field.resolve = before
  }
})

describe('a list longer than a page', () => {
  const numbers = Array.from({ length: 300 }, (_, number) => number)
  /** Takes a third of a millisecond of this thread. */
  const spend = () => {
    for (const end = performance.now() + 1 / 3; performance.now() < end; );
  }
  const listSchema = buildSchema(
    'type Query { all: [Item!]! } type Item { id: Int! slow: Int mine: Item later: Item! }',
  )
  const item = (id: number) => ({
    id: () => {
      spend()
      return id % 100 === 99 ? null : id
    },
    slow: spend,
    mine: () => item(id),
    later: async () => item(id),
  })
  const executeOn = (query: string) =>
    executeQuery({ schema: listSchema, document: parse(query), rootValue: { all: numbers.map(item) } })

  it.each(['{ all { slow } }', '{ all { mine { slow } } }', '{ all { later { slow } } }'])(
    'lets other work run every few milliseconds: %s',
    async query => {
      let isDone = false
      const work = Promise.resolve(executeOn(query)).finally(() => {
        isDone = true
      })
      let turns = 0
      for (; !isDone; turns += 1) await nextTurn()
      await work
      expect(turns).toBeGreaterThanOrEqual(15)
    },
  )

  it('has its items in their order, and each error at its place', async () => {
    const { data, errors } = (await executeOn('{ all { mine { id } } }')) as ExecutionResult
    const mine = (id: number) => ({ mine: id % 100 === 99 ? null : { id } })
    expect(JSON.parse(JSON.stringify(data))).toEqual({ all: numbers.map(mine) })
    expect(errors?.map(({ path }) => path)).toEqual([99, 199, 299].map(id => ['all', id, 'mine', 'id']))
  })

  it('is null as a whole if an item must not be', async () => {
    const { data, errors } = (await executeOn('{ all { later { id } } }')) as ExecutionResult
    expect(data).toBeNull()
    // The first to fail, of all that may.
    expect(errors?.map(({ path }) => path?.[0])).toEqual(['all'])
  })
})
