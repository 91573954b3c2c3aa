// Root fields are nullable, so that one that is refused takes no answer of the others away. One place decides that, so
// that a new field cannot forget it. Root fields of subscriptions stay as they are: each event has only one.

import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      nullableRoots: NullableRootsPlugin<Types>
    }
  }
}

/** Root fields that are always answered. A part of their answer can still be null. */
const nonNullRoots = ['viewer', 'nodes']

class NullableRootsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const isRoot = field.kind === 'Query' || field.kind === 'Mutation'
    return isRoot && !nonNullRoots.includes(field.name) ? { ...field, type: { ...field.type, nullable: true } } : field
  }
}

export const nullableRoots = 'nullableRoots'
SchemaBuilder.registerPlugin(nullableRoots, NullableRootsPlugin)
