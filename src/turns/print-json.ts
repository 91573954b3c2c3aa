// JSON of long lists, printed and encoded in turns: the texts of all items together would take as long as their printing.

import { beginTurn } from './in-turns.ts'

/** Longer lists are printed in turns, item by item. */
const longList = 100
/** Characters that are encoded at once. */
const pieceLength = 65_536

/** `JSON.stringify(body)` as one text or, if it is or has a long list, as bytes in pieces. */
export async function printJsonInTurns(body: unknown): Promise<string | Uint8Array[]> {
  if (!isLong(body) && !hasLongList(body)) return JSON.stringify(body)
  const turn = beginTurn()
  const pieces: Uint8Array[] = []
  let text = ''
  for (const printed of isLong(body) ? itemsOf(body) : partsOf(body)) {
    if (turn.isOver()) await turn.next()
    text += printed
    if (text.length < pieceLength) continue
    pieces.push(Buffer.from(text))
    text = ''
  }
  return [...pieces, Buffer.from(text)]
}

/** The JSON of an object in parts: what stands around its lists, and each item of a long list. */
function* partsOf(body: Readonly<Record<string, unknown>>): Generator<string> {
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    const text = isLong(value) ? '' : JSON.stringify(value)
    // A field without a value.
    if (text === undefined) continue
    yield `${separator}${JSON.stringify(name)}:${text}`
    if (isLong(value)) yield* itemsOf(value)
    separator = ','
  }
  yield '}'
}

/** The JSON of a list, which has items. */
function* itemsOf(items: readonly unknown[]): Generator<string> {
  let separator = '['
  for (const item of items) {
    // In a list, what JSON has no text for is null.
    yield `${separator}${JSON.stringify(item) ?? 'null'}`
    separator = ','
  }
  yield ']'
}

function hasLongList(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.values(body).some(isLong)
}

function isLong(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > longList
}
