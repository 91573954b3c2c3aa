// Rows for people: a table if it fits the terminal, else one block of lines for each row.

type Row = Record<string, unknown>

/** A long text is cut to this width at least. */
const narrowest = 12
const gap = 2

/**
 * The rows must have the same names in the same order, as those of one list have. `names` chooses columns. Those without a value
 * are left out of several.
 */
export function printTable(
  rows: readonly Row[],
  terminalWidth: number,
  names: readonly string[] = Object.keys(rows[0] ?? {}),
): string {
  const filled = names.filter(name => rows.some(row => printCell(row[name]) !== ''))
  const columns = filled.map(name => {
    const cells = [name, ...rows.map(row => printShort(row[name]))]
    return { name, cells, isNumber: rows.every(row => isNumeric(row[name])), width: Math.max(...cells.map(widthOf)) }
  })
  const tooMuch = columns.reduce((sum, { width }) => sum + width + gap, -gap) - terminalWidth
  if (!shrink(columns, tooMuch))
    return rows.map(row => printBlock(Object.fromEntries(names.map(name => [name, row[name]])))).join('\n')
  return [-1, ...rows.keys()]
    .map(row => columns.map(({ cells, ...column }) => padCell(cells[row + 1] ?? '', column)).join(' '.repeat(gap)))
    .map(line => `${line.trimEnd()}\n`)
    .join('')
}

type Column = { name: string; isNumber: boolean; width: number }

/** Takes `tooMuch` letters in all from the widest texts. Returns whether they had as many. */
function shrink(columns: Column[], tooMuch: number): boolean {
  for (let left = tooMuch; left > 0; left -= 1) {
    const [widest] = columns
      .filter(({ name, isNumber, width }) => !isNumber && width > Math.max(narrowest, name.length))
      .toSorted((a, b) => b.width - a.width)
    if (!widest) return false
    widest.width -= 1
  }
  return true
}

/** One line for each value. */
export function printBlock(row: Row): string {
  const width = Math.max(...Object.keys(row).map(name => name.length))
  return Object.entries(row)
    .map(([name, value]) => `${`${name.padEnd(width)}  ${printCell(value)}`.trimEnd()}\n`)
    .join('')
}

/** In a table, times are in UTC and without seconds. */
function printShort(value: unknown): string {
  if (value instanceof Date) return value.toISOString().slice(0, 16).replace('T', ' ')
  return printCell(value)
}

function printCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return withoutControls(text)
}

/** What others have written must not move the cursor, or end the line. */
export function withoutControls(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '�')
}

function isNumeric(value: unknown): boolean {
  return value === null || value === undefined || /^-?\d+(\.\d+)?$/.test(String(value))
}

function widthOf(text: string): number {
  return [...text].length
}

function padCell(text: string, { width, isNumber }: Column): string {
  const letters = [...text]
  if (letters.length > width) return `${letters.slice(0, width - 1).join('')}…`
  const spaces = ' '.repeat(width - letters.length)
  return isNumber ? spaces + text : text + spaces
}
