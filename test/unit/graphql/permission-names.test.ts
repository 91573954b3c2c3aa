// The names of permissions, where they differ from those of the fields that they allow.

import { readFileSync } from 'node:fs'
import { type GraphQLEnumType, parseValue } from 'graphql'
import { describe, expect, it } from 'vitest'
import { fieldsWithPermission } from '../../../src/graphql/permission.ts'
import { schema } from '../../../src/graphql/schema.ts'

const asPermission = (field: string) => field.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()
const roots = ['Query', 'Mutation', 'Subscription']
const nameOf = (type: string, field: string) => (roots.includes(type) ? field : `${type}.${field}`)

/** The fields that a permission of another name allows, by permission. */
function otherFields(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { type, field, requirement } of fieldsWithPermission(schema))
    for (const permission of requirement.permissions.filter(name => name !== asPermission(field.name)))
      found.set(permission, [...(found.get(permission) ?? []), nameOf(type, field.name)].toSorted())
  return found
}

describe('the permissions that are not named as their fields', () => {
  it('are those of the table in docs/keys.md', () => {
    const docs = readFileSync(new URL('../../../docs/keys.md', import.meta.url), 'utf8')
    const [, table = ''] = /\n\| field \| operation \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(docs) ?? []
    const rows = [...otherFields()]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([permission, fields]) => `| ${fields.map(each => `\`${each}\``).join(', ')} | \`${permission}\` |`)
    expect(table.trim().split('\n')).toEqual(rows)
  })

  it.each([
    ['STOP_INSTANCE', 'The field "stopInstance" needs "UPDATE_INSTANCE".'],
    ['START_INSTANCES', 'The field "startInstances" needs "UPDATE_INSTANCE".'],
    ['RENT_BEST_OFFER', 'The field "rentBestOffer" needs "OFFERS" and "RENT_INSTANCE".'],
    ['DESTROY_INSTANCES', 'The field "destroyInstances" needs "DESTROY_INSTANCE".'],
  ])('are named to whoever writes %s', (sent, meant) => {
    const type = schema.getType('PermissionOperation') as GraphQLEnumType
    const message = `"${sent}" is not a value of the enum "PermissionOperation". ${meant}`
    expect(() => type.parseValue(sent)).toThrow(message)
    expect(() => type.parseLiteral(parseValue(sent), {})).toThrow(message)
  })
})
