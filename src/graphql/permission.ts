// `requires`, the option of a field that names the permissions that its service asks for. It is printed as the directive
// @requires.

import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import {
  DirectiveLocation,
  GraphQLDirective,
  type GraphQLEnumType,
  type GraphQLField,
  GraphQLNonNull,
  GraphQLSchema,
  isInterfaceType,
  isObjectType,
  lexicographicSortSchema,
} from 'graphql'
import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import { operationNames } from './accounts/operation-names.ts'

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      requires: RequiresPlugin<Types>
    }
    interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** The operations that the field asks for besides those of its parents. The service checks them. */
      requires?: Operation | readonly Operation[]
    }
  }
}

/** What the field's extensions say: its permissions, and its description without the sentence about them. */
type Requirement = { permissions: readonly string[]; description: string }

/** Introspection cannot show which directives a field has, so there the description names the permissions. */
class RequiresPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { requires } = field.pothosOptions as { requires?: Operation | readonly Operation[] }
    if (requires === undefined) return field
    const permissions = [requires].flat().map(operation => operationNames[operation as Operation])
    const requirement: Requirement = { permissions, description: field.description ?? '' }
    const names = permissions.map(name => `\`${name}\``).join(' and ')
    return {
      ...field,
      description: `${requirement.description} Needs the permission${permissions.length > 1 ? 's' : ''} ${names}.`,
      extensions: { ...field.extensions, requirement },
    }
  }
}
export const requiresPlugin = 'requires'
SchemaBuilder.registerPlugin(requiresPlugin, RequiresPlugin)

export type RequiringField = { type: string; field: GraphQLField<unknown, unknown>; requirement: Requirement }

/** Every field with a permission of its own, with the name of its type. */
export function fieldsWithPermission(schema: GraphQLSchema): RequiringField[] {
  return Object.values(schema.getTypeMap()).flatMap(type => {
    if (!isObjectType(type) && !isInterfaceType(type)) return []
    return Object.values(type.getFields()).flatMap(field => {
      const requirement = field.extensions['requirement'] as Requirement | undefined
      return requirement ? [{ type: type.name, field, requirement }] : []
    })
  })
}

/**
 * The permissions that fields need, by the names that permissions would have if each were named as its field: of fields of
 * another name, nothing that is spelled alike is meant.
 */
export function permissionMeanings(schema: GraphQLSchema): ReadonlyMap<string, string> {
  return new Map(
    fieldsWithPermission(schema).map(({ field, requirement }) => {
      const names = requirement.permissions.map(name => `"${name}"`)
      return [asPermission(field.name), ` The field "${field.name}" needs ${names.join(' and ')}.`]
    }),
  )
}

function asPermission(field: string): string {
  return field.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()
}

/** The schema with the directive, and with the fields that each operation allows in the description of the operation. */
export function withPermissions(schema: GraphQLSchema): GraphQLSchema {
  const operations = schema.getType('PermissionOperation') as GraphQLEnumType
  const fields = fieldsWithPermission(lexicographicSortSchema(schema))
  for (const value of operations.getValues()) {
    const allowed = fields.filter(({ requirement }) => requirement.permissions.includes(value.name)).map(nameOf)
    value.description = `Allows ${allowed.join(', ') || 'requests over REST'}. ${value.description}`
  }
  const directive = new GraphQLDirective({
    name: 'requires',
    description:
      'An operation that an API key must be allowed to use the field, besides those of the fields around it. Without it, the field is refused with the code `FORBIDDEN`.',
    isRepeatable: true,
    locations: [DirectiveLocation.FIELD_DEFINITION],
    args: { permission: { type: new GraphQLNonNull(operations), description: 'The operation that must be allowed.' } },
  })
  return new GraphQLSchema({ ...schema.toConfig(), directives: [...schema.getDirectives(), directive] })
}

function nameOf({ type, field }: RequiringField): string {
  if (type === 'Query' || type === 'Mutation') return `\`${field.name}\``
  return type === 'Subscription' ? `the subscription \`${field.name}\`` : `\`${type}.${field.name}\``
}
