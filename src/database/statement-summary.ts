// What a statement does, in a few words: its operations, and the tables that it names. It has no values: those are parameters,
// and texts inside the statement are left out.

const maxLength = 255
/** The texts of searches vary with their filters. */
const maxKnown = 1_000
const known = new Map<string, string>()

export function summaryOf(text: string): string {
  const found = known.get(text)
  if (found !== undefined) return found
  const summary = summarize(text)
  if (known.size === maxKnown) known.clear()
  known.set(text, summary)
  return summary
}

const table = String.raw`(?:"public"\.)?"?([a-z_]\w*)"?`
const parts = new RegExp(
  [
    String.raw`\b(BEGIN|COMMIT|ROLLBACK|SELECT)\b`,
    // FOR UPDATE, FOR NO KEY UPDATE and DO UPDATE name no table.
    String.raw`(?<!\b(?:FOR|KEY|DO)\s+)\b(INSERT\s+INTO|DELETE\s+FROM|UPDATE)\s+${table}`,
    // Functions, and columns as in `extract(epoch FROM k.expires_at)`, are no tables.
    String.raw`(?<!\bDISTINCT\s+)\b(?:FROM|JOIN)\s+${table}(?![\w".(])`,
  ].join('|'),
  'g',
)
/** The names that a WITH gives. */
const ownNames = /"?\b(\w+)"?\s*(?:\([^()]*\)\s*)?\bAS\s+(?:(?:NOT\s+)?MATERIALIZED\s+)?\(/g

function summarize(text: string): string {
  const bare = text.replaceAll(/'(?:[^']|'')*'/g, "''")
  const own = new Set([...bare.matchAll(ownNames)].map(([, name]) => name))
  const words = [...bare.matchAll(parts)].flatMap(([, operation, write, written, read]) => {
    if (write) return `${write.slice(0, 6)} ${written}`
    if (operation) return operation
    return own.has(read) ? [] : (read as string)
  })
  let summary = ''
  for (const word of words.filter((word, index) => word !== words[index - 1])) {
    if (summary.length + word.length >= maxLength) break
    summary += summary === '' ? word : ` ${word}`
  }
  return summary || 'STATEMENT'
}
