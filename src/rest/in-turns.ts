// Makes long lists a part at a time, so that other requests need not wait for all of a list.

import { setImmediate as nextTurn } from 'node:timers/promises'

/** 250 rows of instances take a few milliseconds. */
const partSize = 250

/** `items.map(present)`, with a turn for other work after each part. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  present: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const part of partsOf(items)) {
    if (results.length > 0) await nextTurn()
    for (const item of part) results.push(present(item))
  }
  return results
}

/** `JSON.stringify(body)`, with a turn for other work after each part of a list in it. */
export async function printJsonInTurns(body: unknown): Promise<string> {
  const hasLongList =
    typeof body === 'object' && body !== null && !Array.isArray(body) && Object.values(body).some(isLong)
  if (!hasLongList) return JSON.stringify(body)
  const fields: string[] = []
  for (const [name, value] of Object.entries(body)) {
    const text = isLong(value) ? `[${(await printParts(value)).join(',')}]` : JSON.stringify(value)
    // Undefined, like a field without a value.
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${fields.join(',')}}`
}

/** The items of each part, printed without the brackets around them. */
async function printParts(items: readonly unknown[]): Promise<string[]> {
  const texts: string[] = []
  for (const part of partsOf(items)) {
    if (texts.length > 0) await nextTurn()
    texts.push(JSON.stringify(part).slice(1, -1))
  }
  return texts
}

function isLong(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > partSize
}

function* partsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += partSize) yield items.slice(start, start + partSize)
}
