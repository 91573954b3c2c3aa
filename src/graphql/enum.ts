import { builder } from './builder.ts'

/**
 * An enum of the values of a type, which are named in this schema's spelling: CHANGE_BID for changeBid. A value without a
 * description does not compile.
 */
export function enumOf<Value extends string>(name: string, description: string, about: Record<Value, string>) {
  // The type says which keys there are; Object.entries forgets it.
  const entries = Object.entries(about) as [Value, string][]
  const values = Object.fromEntries(entries.map(([value, text]) => [nameOf(value), { value, description: text }]))
  return builder.enumType(name, { description, values })
}

/** INSTANCES_CHANGE_BID for instances.changeBid. */
function nameOf(value: string): string {
  return value
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .replaceAll('.', '_')
    .toUpperCase()
}
