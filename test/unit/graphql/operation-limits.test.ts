import { readFileSync } from 'node:fs'
import { buildSchema, getIntrospectionQuery, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { limitsRule, operationLimits } from '../../../src/graphql/limits/operation-limits.ts'
import { validateWithinLimits } from '../../../src/graphql/limits/validate.ts'

const schema = buildSchema(`
  type Query { a: Query b: Int }
  type Mutation { m: Int }
`)

const validationErrors = (document: string) =>
  validate(schema, parse(document), [limitsRule]).map(({ message }) => message)
const nested = (levels: number) => `${'{ a '.repeat(levels - 1)}{ b }${' }'.repeat(levels - 1)}`
const repeatText = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => one(index)).join(' ')

describe('an operation', () => {
  it('may have 10 levels, but not 11', () => {
    expect(validationErrors(nested(operationLimits.depth))).toEqual([])
    expect(validationErrors(nested(operationLimits.depth + 1))).toEqual([
      'The operation has 11 levels; at most 10 are allowed.',
    ])
  })

  it('may have 30 aliases, but not 31', () => {
    const aliases = (count: number) => `{ ${repeatText(count, index => `x${index}: b`)} }`
    expect(validationErrors(aliases(operationLimits.aliases))).toEqual([])
    expect(validationErrors(aliases(operationLimits.aliases + 1))).toEqual([
      'The operation has 31 aliases; at most 30 are allowed.',
    ])
  })

  it('may have an alias of 64 characters, but not of 65', () => {
    expect(validationErrors(`{ ${'x'.repeat(64)}: b }`)).toEqual([])
    expect(validationErrors(`{ a { ${'x'.repeat(65)}: b } }`)).toEqual([
      'The operation has 65 characters in an alias; at most 64 are allowed.',
    ])
  })

  it('may read the schema once, and only as many fields as introspection tools', () => {
    const { schemaFields } = operationLimits
    expect(validationErrors('{ s: __schema { types { name } } t: __schema { types { name } } }')).toEqual([
      'The operation has 2 __schema fields; at most 1 are allowed.',
    ])
    const explosion = '{ __schema { types { fields { args { type { inputFields { type { fields { name } } } } } } } } }'
    expect(validationErrors(explosion)).toHaveLength(1)
    expect(validationErrors(explosion)[0]).toMatch(`fields of the schema; at most ${schemaFields} are allowed.`)
  })

  it('may have 20 directives, but not 21', () => {
    const directives = (count: number) => `{ ${repeatText(count, () => 'b @include(if: true)')} }`
    expect(validationErrors(directives(operationLimits.directives))).toEqual([])
    expect(validationErrors(directives(operationLimits.directives + 1))).toEqual([
      'The operation has 21 directives; at most 20 are allowed.',
    ])
    expect(validationErrors(`query ${'@x '.repeat(21)} { b }`)).toHaveLength(1)
  })

  it('may have 1000 fields, but not 1001', () => {
    const fields = (count: number) => `{ ${'b '.repeat(count)} }`
    expect(validationErrors(fields(operationLimits.fields))).toEqual([])
    expect(validationErrors(fields(operationLimits.fields + 1))).toEqual([
      'The operation has 1001 fields; at most 1000 are allowed.',
    ])
  })

  it('may have 5 mutations, but not 6', () => {
    const mutations = (count: number) => `mutation { ${'m '.repeat(count)} }`
    expect(validationErrors(mutations(operationLimits.mutations))).toEqual([])
    expect(validationErrors(mutations(operationLimits.mutations + 1))).toEqual([
      'The operation has 6 mutations; at most 5 are allowed.',
    ])
    expect(validationErrors('mutation { ...F } fragment F on Mutation { m m m m m m }')).toHaveLength(1)
    expect(validationErrors(`{ ${'b '.repeat(6)} }`)).toEqual([])
  })

  it('is measured with each fragment as often as it is spread', () => {
    const bomb = repeatText(60, index => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)
    const start = performance.now()
    expect(validationErrors(`{ ...F0 } ${bomb} fragment F60 on Query { x: b }`)).toHaveLength(2)
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  it('is measured with its inline fragments', () => {
    expect(validationErrors(`{ ... on Query { ... { ${nested(11).slice(1, -1)} } } }`)).toHaveLength(1)
  })

  it('is measured only up to a fragment that spreads itself', () => {
    expect(validationErrors('{ ...F } fragment F on Query { a { ...F } }')).toEqual([])
  })

  it('may have 15 levels of introspection, as tools need, but not 16', () => {
    const tools = { oneOf: true, inputValueDeprecation: true, schemaDescription: true, specifiedByUrl: true }
    expect(validationErrors(getIntrospectionQuery(tools))).toEqual([])
    const types = (levels: number) => `{ __type(name: "T") ${nested(levels - 1).replaceAll('a', 'ofType')} }`
    expect(validationErrors(types(operationLimits.introspectionDepth))).toEqual([])
    const message = 'The operation has 16 levels of introspection; at most 15 are allowed.'
    expect(validationErrors(types(operationLimits.introspectionDepth + 1))).toEqual([message])
    expect(validationErrors(`{ ...F } fragment F on Query ${types(16)}`)).toEqual([message])
    expect(validationErrors(`{ a { __typename } __schema { types { ofType { __typename } } } }`)).toEqual([])
  })

  it('is measured with the aliases, directives and fields of introspection, too', () => {
    const inSchema = (fields: string) => `{ __schema { types { ${fields} } } }`
    expect(validationErrors(inSchema(repeatText(30, index => `x${index}: name`)))).toEqual([])
    expect(validationErrors(inSchema(repeatText(31, index => `x${index}: name`)))).toHaveLength(1)
    expect(validationErrors(inSchema(repeatText(21, () => 'name @include(if: true)')))).toHaveLength(1)
    expect(validationErrors(inSchema('name '.repeat(998)))).toEqual([])
    expect(validationErrors(inSchema('name '.repeat(999)))).toHaveLength(1)
  })

  const repeated = (operation: string) => validateWithinLimits(schema, parse(operation)).map(({ message }) => message)
  const tooOften = ['The operation selects one name 21 times in one place; at most 20 are allowed.']

  it('may select one name 20 times in one place, but not 21 times', () => {
    expect(repeated(`{ ${'b '.repeat(operationLimits.repeats)} }`)).toEqual([])
    expect(repeated(`{ ${'b '.repeat(operationLimits.repeats + 1)} }`)).toEqual(tooOften)
    expect(repeated(`{ ${repeatText(21, () => 'x: b')} }`)).toEqual(tooOften)
  })

  it.each([
    ['in repeated fields', `{ ${'a { b b b } '.repeat(7)} }`],
    ['in inline fragments', `{ ${'... on Query { b b b } '.repeat(7)} }`],
    ['in fragments', `{ ${repeatText(21, n => `...F${n}`)} } ${repeatText(21, n => `fragment F${n} on Query { b }`)}`],
    [
      'in a chain of fragments',
      `{ b ...F0 } ${repeatText(20, n => `fragment F${n} on Query { b ...F${n + 1} }`)} fragment F20 on Query { a { b } }`,
    ],
    ['far inside', nested(7).replace('{ b }', `{ ${'b '.repeat(21)} }`)],
    ['in the schema', `{ __schema { types { ${'name '.repeat(21)} } } }`],
    ['in one of its operations', `query A { b } query B { ${'b '.repeat(21)} }`],
  ])('is measured by what it repeats %s', (_, operation) => {
    expect(repeated(operation)).toEqual(tooOften)
  })

  it('may select one name in many places, and spread one fragment often', () => {
    const places = repeatText(25, n => `x${n}: a { b }`)
    expect(repeated(`{ ${places} ${'...F '.repeat(25)} } fragment F on Query { b }`)).toEqual([])
  })

  it('is refused for a cycle of fragments before its repeats are counted', () => {
    const cycle = 'fragment F on Query { a { ...G } x: a { ...G } } fragment G on Query { a { ...F } y: a { ...F } }'
    const [message] = repeated(`{ ...F } ${cycle}`)
    expect(message).toMatch(/^Cannot spread fragment "F" within itself/)
  })

  it('costs no more work for what is compared than for other large operations', () => {
    const fields = (count: number) => Array.from({ length: count }, () => 'a { a { b } }').join(' ')
    const cpuOf = (operation: string) => {
      const before = process.cpuUsage()
      for (let run = 0; run < 20; run += 1) repeated(operation)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const usual = `{ ${repeatText(30, n => `x${n}: a { a { b } }`)} nothing }`
    const often = `{ ${fields(120)} nothing }`
    cpuOf(usual)
    expect(cpuOf(often)).toBeLessThan(8 * cpuOf(usual))
  })

  it('is measured apart from the other operations of its document', () => {
    expect(validationErrors(`query A { b } query B ${nested(11)}`)).toHaveLength(1)
  })
})

it('are in the documentation', () => {
  const docs = readFileSync('docs/graphql.md', 'utf8').replaceAll(/\s+/g, ' ')
  const { fields, depth, aliases, aliasCharacters, directives, mutations, repeats } = operationLimits
  expect(docs).toContain(
    `An operation may have ${fields.toLocaleString('en')} fields, ${depth} levels, ${aliases} aliases of at most ${aliasCharacters} characters, ${directives} directives and ${mutations} mutations,`,
  )
  expect(docs).toContain(`at most ${repeats} times.`)
})
