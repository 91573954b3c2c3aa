// What reads select, and the rows that they answer.

import type { Prisma } from '../database/generated/client.ts'
import type { Selected } from '../database/selection/selected.ts'

export type { Selected, SelectOf } from '../database/selection/selected.ts'

type Model = Prisma.ModelName
type Columns<Name extends Model> = Prisma.TypeMap['model'][Name]['payload']['scalars']
type PrismaSelect<Name extends Model> = NonNullable<
  Prisma.TypeMap['model'][Name]['operations']['findMany']['args']['select']
>
/** All but hashes and encrypted values: only these are bytes. */
type Readable<Row> = { [Column in keyof Row]: NonNullable<Row[Column]> extends Uint8Array ? never : Column }[keyof Row]

/**
 * What a read through Prisma Client may select of a model: the columns that are no secrets. It may select no relation but
 * those of `Related`, since a relation can lead to rows of other accounts. Every selection has the column `Key`.
 */
export type ColumnSelect<Name extends Model, Key extends Readable<Columns<Name>>, Related = object> = Related & {
  readonly [Column in Key]: true
} & {
  readonly [Column in Exclude<Readable<Columns<Name>>, Key>]?: true
} & {
  readonly [Other in Exclude<keyof PrismaSelect<Name>, Readable<Columns<Name>> | keyof Related>]?: never
}

/** A row with what a selection asks of it. `Related`: the relations that selections of the model may have. */
export type SelectedColumns<Name extends Model, Key extends keyof Columns<Name>, Select, Related = object> = Selected<
  Columns<Name> & Related,
  Select
> &
  Pick<Columns<Name>, Key>

/** What Prisma Client found with a selection: one row, or several. */
export function asSelected<Found extends object>(found: object): Found {
  // Safe: Prisma Client answers what is selected, and every selection has the key of the row.
  return found as Found
}
