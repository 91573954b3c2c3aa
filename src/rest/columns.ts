// What lists in a URL have in common: JSON in texts, and columns that are selected of rows.

/** Far more than there are, and longer than any: a name is repeated in every row. */
export const maxColumns = 100
export const maxColumnName = 64

export type Complain = (path: string, message: string) => void

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** In a URL everything is a text, and lists are JSON. */
export function fromUrl(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value
}

/** The wanted columns, each once. Undefined is every column, and so is a list with "*". */
export function readColumns(given: unknown, complain: Complain): string[] | undefined {
  if (given === undefined) return undefined
  const columns = fromUrl(given)
  if (!Array.isArray(columns) || !columns.every(column => typeof column === 'string')) {
    complain('select_cols', 'must be a list of column names')
    return undefined
  }
  const distinct = [...new Set(columns)]
  if (distinct.length > maxColumns) {
    complain('select_cols', `takes at most ${maxColumns} columns, not ${distinct.length}`)
  }
  if (distinct.some(column => column.length > maxColumnName)) {
    complain('select_cols', `has a name of more than ${maxColumnName} characters`)
  }
  return distinct.includes('*') ? undefined : distinct
}

/** The selected columns. Null stands for one that does not exist. */
export function selectColumns<Row extends object, Selected>(row: Row, columns: string[] | undefined): Row | Selected {
  if (!columns) return row
  const values = row as Record<string, unknown>
  const selected = columns.map(column => [column, Object.hasOwn(values, column) ? values[column] : null])
  return Object.fromEntries(selected) as Selected
}
