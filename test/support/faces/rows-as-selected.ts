// In tests, a field sees of its row only what its type and the field itself select. Reading anything else is an error, even
// if the row has it because of another field or because it was read whole. Otherwise a test would see that a selection is
// missing only if that changed an answer, but many columns are null, empty or have their default in most rows.

import { defaultFieldResolver, type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql'
import type { Context } from '../../../src/graphql/context.ts'
import { schema } from '../../../src/graphql/schema.ts'

type Row = Record<string, unknown>
type Select = Record<string, unknown>
/** The selection of fields of another item, which see that item as a row of their own. */
const ofItem = Symbol('of item')

/** Nothing selects these: a limit that refuses a request has its usage. */
const unselected = { usedNanos: true }

for (const type of Object.values(schema.getTypeMap())) {
  if (isObjectType(type) && type.extensions['pothosPrismaModel']) narrowRowsOf(type)
}

function narrowRowsOf(type: GraphQLObjectType): void {
  const selectedByType = type.extensions['pothosPrismaSelect'] as Select
  for (const field of Object.values(type.getFields()) as GraphQLField<Row, Context>[]) {
    const { resolve = defaultFieldResolver } = field
    field.resolve = (row, args, context, info) => {
      const selected = selectionOf(field, args, context)
      if (selected === ofItem) return resolve(row, args, context, info)
      const seen = partOf(row, { ...unselected, ...selectedByType, ...selected })
      return resolve(seen, args, context, info)
    }
  }
}

function selectionOf({ extensions }: GraphQLField<Row, Context>, args: object, context: Context) {
  const select = extensions['pothosPrismaSelect']
  if (typeof select !== 'function') return select as Select | undefined
  const selected: typeof ofItem | { select: Select } = select(args, context, () => ofItem)
  return selected === ofItem ? ofItem : selected.select
}

function partOf(row: Row, select: Select): Row {
  const names = Object.keys(select).filter(name => name in row)
  return new Proxy(Object.fromEntries(names.map(name => [name, seenValue(row[name], select[name])])), {
    get(part, name) {
      // A promise asks each value for `then`.
      if (typeof name === 'symbol' || name in part || name === 'then') return part[name as string]
      const problem = name in row ? 'which it does not select' : 'which its row lacks'
      throw new Error(`A field reads ${name}, ${problem}.`)
    },
    has: (_part, name) => name in row,
  })
}

function seenValue(value: unknown, selected: unknown): unknown {
  if (typeof selected !== 'object' || selected === null || value === null) return value
  const { select } = selected as { select: Select }
  return Array.isArray(value) ? value.map(item => partOf(item as Row, select)) : partOf(value as Row, select)
}
