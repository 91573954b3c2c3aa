import { type GraphQLObjectType, isIntrospectionType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'

const namesOf = (type: string) => Object.keys((schema.getType(type) as GraphQLObjectType).getFields())

describe('the order of the schema in explorers', () => {
  it('has mutations of one noun together', () => {
    const nouns = ['ApiKey', 'SshKey', 'SecretVariable', 'SpendLimit', 'Instance', 'Template', 'Volume', 'Webhook']
    for (const noun of nouns) {
      const places = namesOf('Mutation').flatMap((name, index) => (name.includes(noun) ? [index] : []))
      const others = namesOf('Mutation').slice(places[0], (places.at(-1) ?? 0) + 1)
      const strangers = others.filter(name => nouns.some(other => other !== noun && name.includes(other)))
      expect([noun, strangers]).toEqual([noun, []])
    }
  })

  it('has types and reads by name', () => {
    const types = Object.values(schema.getTypeMap()).filter(type => !isIntrospectionType(type))
    for (const names of [types.map(({ name }) => name), namesOf('Query')])
      expect(names).toEqual(names.toSorted((one, other) => one.localeCompare(other)))
  })

  it.each(['Instance', 'Offer', 'Volume', 'Template', 'ApiKey', 'Webhook'])('has the id of %s first', type => {
    expect(namesOf(type)[0]).toBe('id')
  })
})
