/** Maps items in order, with at most `limit` in work at once. */
export async function mapConcurrently<Item, Value>(
  items: readonly Item[],
  limit: number,
  map: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  const rest = items.entries()
  const workers = Array.from({ length: Math.min(limit, items.length) }, async () => {
    for (const [index, item] of rest) values[index] = await map(item)
  })
  await Promise.all(workers)
  return values
}
