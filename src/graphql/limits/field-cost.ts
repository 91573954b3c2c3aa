// `complexity`, the option of a field that says what it costs. Its arguments can decide the cost of the fields inside it,
// as the page size decides how many nodes a connection has.

import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import type { GraphQLField } from 'graphql'

export type FieldCost = {
  /** The cost of the field itself. Defaults to 1. */
  field?: number
  /** The largest number of items whose fields are answered. Defaults to 10 for a list, to 1 for other fields. */
  multiplier?: number
  /** The costs of fields of the answered type, by name. They replace the costs that these fields declare. */
  inside?: Readonly<Record<string, FieldCost>>
}

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      fieldCost: FieldCostPlugin<Types>
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
      /** What the field costs, or how its arguments determine that. */
      complexity?: FieldCost | ((args: InputShapeFromFields<Args>) => FieldCost)
    }
  }
}

type Complexity = FieldCost | ((args: Record<string, unknown>) => FieldCost)

class FieldCostPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { complexity } = field.pothosOptions as { complexity?: Complexity }
    return complexity === undefined ? field : { ...field, extensions: { ...field.extensions, complexity } }
  }
}
export const fieldCostPlugin = 'fieldCost'
SchemaBuilder.registerPlugin(fieldCostPlugin, FieldCostPlugin)

/** What the field declares with the option `complexity`. */
export function complexityOf(field: GraphQLField<unknown, unknown>): Complexity {
  return (field.extensions['complexity'] as Complexity | undefined) ?? {}
}
