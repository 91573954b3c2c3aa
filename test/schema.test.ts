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
  it('is the committed one; npm run schema writes it anew', async () => {
    await expect(printSortedSchema()).toMatchFileSnapshot('../schema.graphql')
  })

  it('is the one that the typed client was generated from; npm run schema does it anew', async () => {
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

describe('the members of a union', () => {
  const unions = Object.values(schema.getTypeMap()).filter(isUnionType)

  // GraphQL refuses a query that selects both under one name.
  it.each(unions)('of %s have fields of one name in one type', union => {
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

  it('finds what clients lose', async () => {
    expect(
      await findBreakingChanges(before, 'type Query { b: Int @deprecated(reason: "Use a.") c(x: Int): Int }'),
    ).toHaveLength(1)
    expect(await findBreakingChanges(before, 'type Query { a: String b: Int c(x: Int!): Int }')).toHaveLength(2)
  })

  it('lets go of what was deprecated, and of what is new', async () => {
    expect(await findBreakingChanges(before, 'type Query { a: Int c(x: Int): Int d: Int }')).toEqual([])
  })
})
