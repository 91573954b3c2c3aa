import { builder } from './builder.ts'

/**
 * An enum type for the values of a TypeScript union, named in this schema's spelling: UPDATE_BID for updateBid. A value
 * without a description does not compile.
 */
export function enumOf<Value extends string>(
  name: string,
  description: string,
  valueDescriptions: Record<Value, string>,
) {
  // Object.entries loses the type of the keys.
  const entries = Object.entries(valueDescriptions) as [Value, string][]
  const values = Object.fromEntries(entries.map(([value, text]) => [nameOf(value), { value, description: text }]))
  return builder.enumType(name, { description, values })
}

/** The value's name in the schema: INSTANCES_CHANGE_BID for instances.changeBid. */
export function nameOf(value: string): string {
  return value
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .replaceAll('.', '_')
    .toUpperCase()
}
