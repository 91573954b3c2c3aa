// Services read what a selection names, so every row has what its fields need. plugin-prisma checks that for each field of
// each row, to read what is missing. That would take a seventh of the time of a list, so it is told of the selections only
// after it has wrapped the resolvers.
//
// So nothing checks the rows in production: a column that no field selects is undefined there, and may be shown as null. The
// tests check instead: each field sees only what it selects, and reading anything else is an error.

import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { type GraphQLSchema, isObjectType } from 'graphql'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      rowsAsRead: RowsAsReadPlugin<Types>
    }
  }
}

/** Where plugin-prisma looks for the selection of a field. */
const selection = 'pothosPrismaSelect'
const hidden = 'selection'

class RowsAsReadPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { [selection]: select, ...extensions } = field.extensions ?? {}
    return select ? { ...field, extensions: { ...extensions, [hidden]: select } } : field
  }

  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    for (const type of Object.values(schema.getTypeMap())) {
      if (!isObjectType(type)) continue
      for (const field of Object.values(type.getFields())) {
        field.extensions = { ...field.extensions, [selection]: field.extensions[hidden] }
      }
    }
    return schema
  }
}

export const rowsAsRead = 'rowsAsRead'
SchemaBuilder.registerPlugin(rowsAsRead, RowsAsReadPlugin)
