import { buildSchema, getIntrospectionQuery, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { limits, limitsRule } from '../../../src/graphql/limits.ts'

const schema = buildSchema(`
  type Query { a: Query b: Int }
  type Mutation { m: Int }
`)

const problems = (document: string) => validate(schema, parse(document), [limitsRule]).map(({ message }) => message)
const deep = (levels: number) => `${'{ a '.repeat(levels - 1)}{ b }${' }'.repeat(levels - 1)}`
const many = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => one(index)).join(' ')

describe('an operation', () => {
  it('may be 10 levels deep, and not 11', () => {
    expect(problems(deep(limits.depth))).toEqual([])
    expect(problems(deep(limits.depth + 1))).toEqual(['The operation has 11 levels; at most 10 are allowed.'])
  })

  it('may have 30 aliases, and not 31', () => {
    const aliases = (count: number) => `{ ${many(count, index => `x${index}: b`)} }`
    expect(problems(aliases(limits.aliases))).toEqual([])
    expect(problems(aliases(limits.aliases + 1))).toEqual(['The operation has 31 aliases; at most 30 are allowed.'])
  })

  it('may have an alias of 64 characters, and not of 65', () => {
    expect(problems(`{ ${'x'.repeat(64)}: b }`)).toEqual([])
    expect(problems(`{ a { ${'x'.repeat(65)}: b } }`)).toEqual([
      'The operation has 65 characters in an alias; at most 64 are allowed.',
    ])
  })

  it('may read the schema once, and no more of it than tools do', () => {
    const { schemaFields } = limits
    expect(problems('{ s: __schema { types { name } } t: __schema { types { name } } }')).toEqual([
      'The operation has 2 __schema fields; at most 1 are allowed.',
    ])
    const explosion = '{ __schema { types { fields { args { type { inputFields { type { fields { name } } } } } } } } }'
    expect(problems(explosion)).toHaveLength(1)
    expect(problems(explosion)[0]).toMatch(`fields of the schema; at most ${schemaFields} are allowed.`)
  })

  it('may have 20 directives, and not 21', () => {
    const directives = (count: number) => `{ ${many(count, () => 'b @include(if: true)')} }`
    expect(problems(directives(limits.directives))).toEqual([])
    expect(problems(directives(limits.directives + 1))).toEqual([
      'The operation has 21 directives; at most 20 are allowed.',
    ])
    expect(problems(`query ${'@x '.repeat(21)} { b }`)).toHaveLength(1)
  })

  it('may have 1000 fields, and not 1001', () => {
    const fields = (count: number) => `{ ${'b '.repeat(count)} }`
    expect(problems(fields(limits.fields))).toEqual([])
    expect(problems(fields(limits.fields + 1))).toEqual(['The operation has 1001 fields; at most 1000 are allowed.'])
  })

  it('may have 5 mutations, and not 6', () => {
    const mutations = (count: number) => `mutation { ${'m '.repeat(count)} }`
    expect(problems(mutations(limits.mutations))).toEqual([])
    expect(problems(mutations(limits.mutations + 1))).toEqual(['The operation has 6 mutations; at most 5 are allowed.'])
    expect(problems('mutation { ...F } fragment F on Mutation { m m m m m m }')).toHaveLength(1)
    expect(problems(`{ ${'b '.repeat(6)} }`)).toEqual([])
  })

  it('counts a fragment as often as it is spread', () => {
    const bomb = many(60, index => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)
    const start = performance.now()
    expect(problems(`{ ...F0 } ${bomb} fragment F60 on Query { x: b }`)).toHaveLength(2)
    expect(performance.now() - start).toBeLessThan(100)
  })

  it('is measured with its inline fragments', () => {
    expect(problems(`{ ... on Query { ... { ${deep(11).slice(1, -1)} } } }`)).toHaveLength(1)
  })

  it('does not hang on a fragment that spreads itself', () => {
    expect(problems('{ ...F } fragment F on Query { a { ...F } }')).toEqual([])
  })

  it('may look at the schema as deep as tools do, 15 levels, and not 16', () => {
    const tools = { oneOf: true, inputValueDeprecation: true, schemaDescription: true, specifiedByUrl: true }
    expect(problems(getIntrospectionQuery(tools))).toEqual([])
    const types = (levels: number) => `{ __type(name: "T") ${deep(levels - 1).replaceAll('a', 'ofType')} }`
    expect(problems(types(limits.introspectionDepth))).toEqual([])
    const message = 'The operation has 16 levels of introspection; at most 15 are allowed.'
    expect(problems(types(limits.introspectionDepth + 1))).toEqual([message])
    expect(problems(`{ ...F } fragment F on Query ${types(16)}`)).toEqual([message])
    expect(problems(`{ a { __typename } __schema { types { ofType { __typename } } } }`)).toEqual([])
  })

  it('is measured where it looks at the schema as anywhere else', () => {
    const inSchema = (fields: string) => `{ __schema { types { ${fields} } } }`
    expect(problems(inSchema(many(30, index => `x${index}: name`)))).toEqual([])
    expect(problems(inSchema(many(31, index => `x${index}: name`)))).toHaveLength(1)
    expect(problems(inSchema(many(21, () => 'name @include(if: true)')))).toHaveLength(1)
    expect(problems(inSchema('name '.repeat(998)))).toEqual([])
    expect(problems(inSchema('name '.repeat(999)))).toHaveLength(1)
  })

  it('is measured alone, whatever else the document has', () => {
    expect(problems(`query A { b } query B ${deep(11)}`)).toHaveLength(1)
  })
})
