import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { printSortedSchema } from '../src/graphql/print-schema.ts'
import { schema } from '../src/graphql/schema.ts'
import { generateClient } from './client/generate.ts'
import { findBreakingChanges } from './support/faces/schema-diff.ts'

describe('the schema', () => {
  it('matches the committed schema.graphql (npm run schema prints it again)', async () => {
    await expect(printSortedSchema()).toMatchFileSnapshot('../schema.graphql')
  })

  it('matches the committed typed client (npm run schema generates it again)', async () => {
    await expect(await generateClient(printSortedSchema())).toMatchFileSnapshot('client/generated.ts')
  })

  it('describes every type, field, argument and enum value', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      type => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
    )
    const described = types.flatMap(describedElementsOf)
    expect(described.length).toBeGreaterThan(200)
    expect(described.filter(({ description }) => !description?.trim()).map(({ place }) => place)).toEqual([])
  })
})

it('the description of the schema names operations that exist', () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const operations = roots.flatMap(root => Object.keys(root?.getFields() ?? {}))
  const named = [...(schema.description ?? '').matchAll(/`([a-zA-Z]+)`/g)].map(([, name]) => name as string)
  expect(named.length).toBeGreaterThan(4)
  expect(named.filter(name => !operations.includes(name))).toEqual([])
})

describe('the members of a union', () => {
  const unions = Object.values(schema.getTypeMap()).filter(isUnionType)

  // GraphQL refuses a query that selects fields of one name and different types.
  it.each(unions)('of %s give fields of the same name the same type', union => {
    const fields = union.getTypes().flatMap(member => Object.values(member.getFields()))
    const types = Map.groupBy(fields, ({ name }) => name)
    const several = [...types].filter(([, same]) => new Set(same.map(({ type }) => String(type))).size > 1)
    expect(several.map(([name]) => name)).toEqual([])
  })
})

type DescribedElement = { place: string; description: string | null | undefined }

function describedElementsOf(type: GraphQLNamedType): DescribedElement[] {
  const places: DescribedElement[] = [{ place: type.name, description: type.description }]
  if (isEnumType(type)) {
    places.push(...type.getValues().map(({ name, description }) => ({ place: `${type.name}.${name}`, description })))
  }
  if (isInputObjectType(type)) {
    places.push(
      ...Object.values(type.getFields()).map(({ name, description }) => ({
        place: `${type.name}.${name}`,
        description,
      })),
    )
  }
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      const place = `${type.name}.${field.name}`
      places.push({ place, description: field.description })
      places.push(...field.args.map(({ name, description }) => ({ place: `${place}(${name}:)`, description })))
    }
  }
  return places
}

describe('the check for breaking changes', () => {
  const before = 'type Query { a: Int b: Int @deprecated(reason: "Use a.") c(x: Int): Int }'

  it('finds removed fields and changed types', async () => {
    expect(
      await findBreakingChanges(before, 'type Query { b: Int @deprecated(reason: "Use a.") c(x: Int): Int }'),
    ).toHaveLength(1)
    expect(await findBreakingChanges(before, 'type Query { a: String b: Int c(x: Int!): Int }')).toHaveLength(2)
  })

  it('allows additions, and the removal of deprecated fields', async () => {
    expect(await findBreakingChanges(before, 'type Query { a: Int c(x: Int): Int d: Int }')).toEqual([])
  })
})
