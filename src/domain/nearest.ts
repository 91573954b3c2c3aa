// What was meant by a word that names nothing.

/** The names that have the text among their words, or else those that are most like it. */
export function nearestNames(text: string, names: readonly string[], most = 3): string[] {
  const wanted = simplify(text)
  const known = names.map(name => ({ name, simple: simplify(name) }))
  const extended = known.filter(({ simple }) => hasWords(simple, wanted))
  if (extended.length > 0) return extended.slice(0, most).map(({ name }) => name)
  const mostEdits = Math.floor(wanted.length / 3) + 1
  const like = known
    .map(({ name, simple }) => ({ name, edits: countEdits(wanted, simple) }))
    .filter(({ edits }) => edits <= mostEdits)
    .toSorted((a, b) => a.edits - b.edits)
  const fewest = like[0]?.edits
  return like
    .filter(({ edits }) => edits === fewest)
    .slice(0, most)
    .map(({ name }) => name)
}

/** "Did you mean …?", as the end of a message; empty if nothing is like the text. */
export function suggestNames(text: string, names: readonly string[]): string {
  return askForOneOf(nearestNames(text, names).map(name => `"${name}"`))
}

/** "Did you mean …?", as the end of a message; empty without suggestions. */
export function askForOneOf(suggestions: readonly string[]): string {
  const last = suggestions.at(-1)
  if (last === undefined) return ''
  const others = suggestions.slice(0, -1)
  return ` Did you mean ${others.length > 0 ? `${others.join(', ')} or ${last}` : last}?`
}

function simplify(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ')
    .trim()
}

function hasWords(name: string, words: string): boolean {
  return words !== '' && ` ${name} `.includes(` ${words} `)
}

/** The fewest letters to insert, delete, replace, or swap with the next, that make one text of the other. */
export function countEdits(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      next[column] = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return at(last, to.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
