import { importColumns, requiredColumns } from '../domain/machines/import.ts'
import { printUsd } from '../domain/money.ts'

/** The columns of an import, from the table that reads them. */
export function columnsHelp(): string {
  const lines = Object.entries(importColumns).map(([name, { kind, meaning, fallback, otherwise }]) => {
    const absent = otherwise ?? (requiredColumns.includes(name) ? 'required' : `${printed(fallback)} when absent`)
    return `  ${name.padEnd(24)}${meaning} (${kind.must}); ${absent}`
  })
  return `The columns, in CSV named by the first line:\n${lines.join('\n')}`
}

function printed(fallback: unknown): string {
  if (typeof fallback === 'bigint') return printUsd(fallback)
  return fallback === '' ? 'empty' : String(fallback)
}
