import { type GraphQLSchema, isEnumType, isIntrospectionType } from 'graphql'
import { permissionMeanings } from '../permission.ts'
import { explainValues } from './enum-values.ts'
import { noteRefusals } from './unseen-refusals.ts'

/** Makes enums say which values they have, and mutations note their refusals. */
export function withErrors(schema: GraphQLSchema): GraphQLSchema {
  const meanings = permissionMeanings(schema)
  for (const type of Object.values(schema.getTypeMap()))
    if (isEnumType(type) && !isIntrospectionType(type))
      explainValues(type, type.name === 'PermissionOperation' ? meanings : undefined)
  for (const mutation of Object.values(schema.getMutationType()?.getFields() ?? {})) noteRefusals(mutation)
  return schema
}
