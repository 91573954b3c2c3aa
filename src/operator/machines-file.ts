// Splits a file of machines into rows. The domain parses the rows' values.

import { readFileSync } from 'node:fs'
import { CsvError, parse } from 'csv-parse/sync'
import { invalidInput } from '../domain/errors.ts'
import { findColumnIssues, type ImportRow } from '../domain/machines/import-rows.ts'

const formats = ['csv', 'json'] as const
type Format = (typeof formats)[number]

export function formatOf(file: string, requested: string | undefined): Format {
  const ending = /\.(csv|json|jsonl|ndjson)$/i.exec(file)?.[1]?.toLowerCase()
  if (requested === undefined && ending !== undefined) return ending === 'csv' ? 'csv' : 'json'
  const format = formats.find(name => name === requested)
  if (format) return format
  throw new Error(
    requested === undefined
      ? `--format is missing, and the name of ${file} does not end in .csv, .json, .jsonl or .ndjson.`
      : `--format must be csv or json, not "${requested}".`,
  )
}

export function readMachinesFile(file: string, format: Format): ImportRow[] {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new Error(`--file cannot be read: ${messageOf(error)}.`)
  }
  const rows = parseRows(bytes, format)
  if (rows.length === 0) throw new Error(`There are no machines in ${file}.`)
  return rows
}

export function parseRows(bytes: Uint8Array, format: Format): ImportRow[] {
  let text: string
  try {
    // TextDecoder also drops a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('--file is not UTF-8 text.')
  }
  if (format === 'csv') return parseCsvRows(text)
  return text.trimStart().startsWith('[') ? parseArrayRows(text) : parseLineRows(text)
}

function parseCsvRows(text: string): ImportRow[] {
  const [header, ...rows] = parseCsv(text)
  const names = header?.record ?? []
  const wrong = findColumnIssues(names)
  if (wrong.length > 0) throw invalidInput(wrong.map(issue => ({ ...issue, path: `header: ${issue.path}` })))
  return rows.map(({ record, place }) =>
    record.length === names.length
      ? { place, fields: Object.fromEntries(names.map((name, index) => [name, record[index]])) }
      : { place, problem: `has ${record.length} fields, and the header has ${names.length}.` },
  )
}

/** `lines` is the number of the record's last line. */
type CsvRecord = { record: string[]; info: { lines: number } }
type CsvLine = { record: string[]; place: string }

function parseCsv(text: string): CsvLine[] {
  const options = { info: true, relaxColumnCount: true, skipEmptyLines: true, trim: true } as const
  try {
    // Between quotes, the parser counts the two characters of a Windows line end as two lines.
    // The parser's types do not say that the option `info` wraps each record.
    const lines = parse(text.replace(/\r\n/g, '\n'), options) as unknown as CsvRecord[]
    return lines.map(({ record, info }) => {
      const lineBreaks = record.join('').split('\n').length - 1
      return { record, place: `line ${info.lines - lineBreaks}` }
    })
  } catch (error) {
    if (error instanceof CsvError) throw new Error(`--file is not CSV: ${error.message}.`)
    throw error
  }
}

function parseArrayRows(text: string): ImportRow[] {
  const read = parseJson(text)
  if (typeof read === 'string') throw new Error(`--file is not JSON: ${read}.`)
  const values: unknown[] = Array.isArray(read.value) ? read.value : [read.value]
  return values.map((value, index) => toImportRow(`machine ${index + 1}`, value))
}

function parseLineRows(text: string): ImportRow[] {
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, place: `line ${index + 1}` }))
  const filled = lines.filter(({ line }) => line.trim() !== '')
  return filled.map(({ line, place }) => {
    const read = parseJson(line)
    return typeof read === 'string' ? { place, problem: `is not JSON: ${read}.` } : toImportRow(place, read.value)
  })
}

function toImportRow(place: string, value: unknown): ImportRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { place, fields: { ...value } }
    : { place, problem: 'must be an object with a field for each column.' }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function parseJson(text: string): { value: unknown } | string {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return messageOf(error)
  }
}
