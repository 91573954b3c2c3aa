import { importColumns, requiredColumns } from '../domain/machines/import-columns.ts'
import { printUsd } from '../domain/money.ts'

/** The columns of an import, from the table that reads them. */
export function columnsHelp(): string {
  const lines = Object.entries(importColumns).map(([name, { type, meaning, defaultValue, defaultNote }]) => {
    const absent =
      defaultNote ?? (requiredColumns.includes(name) ? 'required' : `${printFallback(defaultValue)} when absent`)
    return `  ${name.padEnd(24)}${meaning} (${type.expected}); ${absent}`
  })
  return `The columns, in CSV named by the first line:\n${lines.join('\n')}`
}

function printFallback(fallback: unknown): string {
  if (typeof fallback === 'bigint') return printUsd(fallback)
  return fallback === '' ? 'empty' : String(fallback)
}
