// Values that clients send in filters and parameters. Old clients send numbers and booleans as strings.

/** Undefined if the value is no finite number, nor the decimal text of one. */
export function parseNumber(raw: unknown): number | undefined {
  if (typeof raw === 'string' && !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(raw)) return undefined
  const value = typeof raw === 'string' ? Number(raw) : raw
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Undefined if the value is neither a boolean nor `true` or `false` as text, in any case. */
export function parseBoolean(raw: unknown): boolean | undefined {
  const value = typeof raw === 'string' ? raw.toLowerCase() : raw
  return value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined
}

/** Prints a value for a message, at most 60 characters of it. */
export function quoteValue(value: unknown): string {
  const text = typeof value === 'object' || typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
