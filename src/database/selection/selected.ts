/** What a read asks of a record: columns, and of related records what it asks of them. */
export type SelectOf<Row> = { readonly [Name in keyof Row]?: true | { readonly select: SelectOf<ItemOf<Row[Name]>> } }

/** A record with what a selection asks of it. */
export type Selected<Row, Select> = Row extends null
  ? null
  : {
      [Name in keyof Select & keyof Row]: Select[Name] extends { select: infer Inner }
        ? Row[Name] extends readonly (infer Item)[]
          ? Selected<Item, Inner>[]
          : Selected<Row[Name], Inner>
        : Row[Name]
    }

type ItemOf<Value> = NonNullable<Value> extends readonly (infer Item)[] ? Item : NonNullable<Value>
