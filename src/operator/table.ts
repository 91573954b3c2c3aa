// Rows for people: a table if it is as wide as the terminal at most, else one block of lines for each row.

type Row = Record<string, unknown>

/** The rows must have the same names in the same order, as those of one list have. */
export function printTable(rows: readonly Row[], terminalWidth: number): string {
  const names = Object.keys(rows[0] ?? {})
  const cells = [names, ...rows.map(row => names.map(name => printCell(row[name])))]
  const widths = names.map((_, column) => Math.max(...cells.map(row => widthOf(row[column] ?? ''))))
  const isNumber = names.map(name => rows.every(row => isNumeric(row[name])))
  if (widths.reduce((sum, width) => sum + width, 2 * (names.length - 1)) > terminalWidth)
    return rows.map(printBlock).join('\n')
  const lines = cells.map(row =>
    row.map((cell, column) => pad(cell, widths[column] ?? 0, isNumber[column] === true)).join('  '),
  )
  return lines.map(line => `${line.trimEnd()}\n`).join('')
}

/** One line for each value. */
export function printBlock(row: Row): string {
  const width = Math.max(...Object.keys(row).map(name => name.length))
  return Object.entries(row)
    .map(([name, value]) => `${`${name.padEnd(width)}  ${printCell(value)}`.trimEnd()}\n`)
    .join('')
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

function pad(text: string, width: number, atStart: boolean): string {
  const spaces = ' '.repeat(width - widthOf(text))
  return atStart ? spaces + text : text + spaces
}
