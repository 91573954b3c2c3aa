/** Lines with columns of equal width: the first one to the left, numbers to the right. */
export function printTable(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0))) ?? []
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return rows.map(row => `  ${line(row)}\n`).join('')
}

/** A number with about three digits; a dash if it is not known. */
export function printNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–'
  return value.toLocaleString('en-US', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 })
}
