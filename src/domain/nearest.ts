// What was meant by a word that names nothing.

/**
 * The names that have the text among their words, or else the longest that the text has among its own, as in
 * "NVIDIA GeForce RTX 4090". Or else those that are most like it, or have a word with a digit in common.
 */
export function nearestNames(text: string, names: readonly string[], most = 3): string[] {
  const wanted = simplify(text)
  const known = names.map(name => ({ name, simple: simplify(name) }))
  const extended = known.filter(({ simple }) => hasWords(simple, wanted))
  const contained = known
    .filter(({ simple }) => hasWords(wanted, simple))
    .toSorted((a, b) => b.simple.length - a.simple.length)
    .slice(0, 1)
  const found = [extended, contained, likeText(wanted, known)].find(({ length }) => length > 0)
  return (found ?? known.filter(({ simple }) => sharesNumber(simple, wanted))).slice(0, most).map(({ name }) => name)
}

type KnownName = { name: string; simple: string }

/** The names of which the whole, or as many words as the text has, take fewest edits. Words may have fewer than a whole. */
function likeText(wanted: string, known: readonly KnownName[]): KnownName[] {
  const [mostOfWhole, mostOfWords] = [Math.floor(wanted.length / 3) + 1, Math.floor(wanted.length / 4)]
  const like = known.flatMap(each => {
    const whole = countEdits(wanted, each.simple)
    const words = Math.min(...runsOfWords(each.simple, wanted.split(' ').length).map(run => countEdits(wanted, run)))
    const edits = Math.min(whole <= mostOfWhole ? whole : Infinity, words <= mostOfWords ? words : Infinity)
    return edits === Infinity ? [] : [{ each, edits }]
  })
  const fewest = Math.min(...like.map(({ edits }) => edits))
  return like.filter(({ edits }) => edits === fewest).map(({ each }) => each)
}

/** Each run of `count` words. None if the text has no more words than that. */
function runsOfWords(text: string, count: number): string[] {
  const words = text.split(' ')
  if (words.length <= count) return []
  return words.slice(count - 1).map((_, index) => words.slice(index, index + count).join(' '))
}

/** Whether both have a word such as "h100". */
function sharesNumber(name: string, text: string): boolean {
  const words = new Set(name.split(' '))
  return text.split(' ').some(word => word.length > 2 && /\d/.test(word) && words.has(word))
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
