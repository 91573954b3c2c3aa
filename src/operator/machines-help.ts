import { importColumns, requiredColumns } from '../domain/machines/import-columns.ts'
import { printUsd } from '../domain/money.ts'

/** Describes the import's columns, from the table that parses them. */
export function columnsHelp(): string {
  const lines = Object.entries(importColumns).map(([name, { type, meaning, defaultValue, absentNote }]) => {
    const absent =
      absentNote ?? (requiredColumns.includes(name) ? 'required' : `default: ${printFallback(defaultValue)}`)
    return `  ${name.padEnd(24)}${meaning} (${type.expected}); ${absent}`
  })
  return `Columns (in CSV, the first line names them):\n${lines.join('\n')}`
}

function printFallback(fallback: unknown): string {
  if (typeof fallback === 'bigint') return printUsd(fallback)
  if (fallback === null) return 'unknown'
  return fallback === '' ? 'empty' : String(fallback)
}
