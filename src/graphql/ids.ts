import { invalidInput } from '../domain/errors.ts'
import { type IdType, idPrefixes, printId } from '../domain/ids.ts'
import { quoteValue } from '../domain/values.ts'

export { printId }

/** The types that `node` finds by id. */
export type NodeType = Exclude<IdType, 'WebhookDelivery'>
const { WebhookDelivery: _, ...prefixes } = idPrefixes

/** Ids with this many digits fit the database's largest integers. */
const maxDigits = 18

/** The integer in an id of a known type, or an issue message without its full stop. The bare integer is accepted too. */
export function tryParseId(type: NodeType, id: string): bigint | string {
  const [, prefix, digits] = /^(?:([a-z]+)_)?(\d+)$/.exec(id) ?? []
  if (digits === undefined || (prefix !== undefined && prefix !== prefixes[type]))
    return `${quoteValue(id)} is not an id of the expected type; send one like ${prefixes[type]}_42`
  return digits.length <= maxDigits ? BigInt(digits) : `${quoteValue(id)} is too large for an id`
}

/** The integer in an id of a known type. An invalid id is refused with the issue at `path`. */
export function parseId(type: NodeType, id: string, path = 'id'): bigint {
  const integer = tryParseId(type, id)
  if (typeof integer === 'bigint') return integer
  throw invalidInput([{ path, message: `${integer}.` }])
}

/** The type that the prefix of an id names. */
export function parseIdType(id: string, path = 'id'): NodeType {
  const types = Object.keys(prefixes) as NodeType[]
  const type = types.find(name => id.startsWith(`${prefixes[name]}_`))
  if (type) return type
  const examples = Object.values(prefixes).map(prefix => `${prefix}_42`)
  throw invalidInput([{ path, message: `${quoteValue(id)} is not an id; send one like ${examples.join(', ')}.` }])
}

/** The type and the integer of an id whose type must be one of these. The id needs its prefix, which names the type. */
export function parseTypedId<Type extends NodeType>(
  types: readonly Type[],
  id: string,
  path: string,
): { type: Type; id: bigint } {
  const type = types.find(name => id.startsWith(`${prefixes[name]}_`))
  if (type) return { type, id: parseId(type, id, path) }
  const examples = types.map(name => `${prefixes[name]}_42`).join(', ')
  throw invalidInput([
    { path, message: `${quoteValue(id)} is not an ID with one of the expected prefixes; send one like ${examples}.` },
  ])
}

/** An item without a name is called by its id. That never changes, so what is read can be written. */
export function printName(type: IdType, { id, name }: { id: number; name: string | null }): string {
  return name || printId(type, id)
}
