// Parses the options of a command. Every error names the option.

import { parseArgs } from 'node:util'
import { parsePermissions } from '../domain/accounts/permissions/parse.ts'
import type { Permissions } from '../domain/accounts/permissions/permissions.ts'
import { invalidInput } from '../domain/errors.ts'
import { type IdType, idPrefixes } from '../domain/ids.ts'
import { instant } from '../domain/machines/import-column-types.ts'
import { parseUsd } from '../domain/money.ts'
import { suggestNames } from '../domain/nearest.ts'

/**
 * An operand may be given without its name: `restore FILE` is `restore --file FILE`. `also`: names that are accepted, and that the
 * help leaves out.
 */
type Option = {
  meaning: string
  required?: boolean
  flag?: boolean
  operand?: boolean
  also?: readonly string[]
}
export type OptionTable = Record<string, Option>

/** A flag is a boolean. Every other option is its text. */
export type OptionValues<Table extends OptionTable> = {
  [Name in keyof Table]: Table[Name] extends { flag: true }
    ? boolean
    : Table[Name] extends { required: true }
      ? string
      : string | undefined
}

export function parseOptions<Table extends OptionTable>(table: Table, args: string[]): OptionValues<Table> {
  const types = Object.entries(table).flatMap(([name, { flag, also = [] }]) =>
    [name, ...also].map(any => [any, { type: flag ? 'boolean' : 'string' } as const] as const),
  )
  const texts = new Set(types.flatMap(([name, { type }]) => (type === 'boolean' ? [] : [`--${name}`])))
  const parsed = parseValues(withOperands(args, texts), Object.fromEntries(types), table)
  const values = Object.fromEntries(
    Object.entries(table).map(([name, option]) => [name, readValue(name, option, parsed)]),
  )
  const missing = Object.keys(table).filter(name => table[name]?.required && values[name] === undefined)
  if (missing.length > 0) throw new Error(`Missing ${missing.map(name => nameOf(name, table[name])).join(', ')}.`)
  // parseArgs has checked each value's type, and the lines above that no required option is missing.
  return values as OptionValues<Table>
}

/** As usage and help show an option. */
export function nameOf(name: string, option: Option | undefined): string {
  return option?.operand ? name.toUpperCase() : `--${name}`
}

function readValue(name: string, { flag, also = [] }: Option, values: Record<string, unknown>): unknown {
  const given = [name, ...also].filter(any => values[any] !== undefined)
  if (given.length > 1) throw new Error(`Give only one of ${given.map(any => `--${any}`).join(' and ')}.`)
  const [only] = given
  return only === undefined ? (flag ? false : undefined) : values[only]
}

type OptionTypes = Record<string, { type: 'boolean' | 'string' }>

function parseValues(args: string[], options: OptionTypes, table: OptionTable): Record<string, unknown> {
  const operand = Object.keys(table).find(name => table[name]?.operand)
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: operand !== undefined })
    if (operand === undefined || positionals.length === 0) return values
    if (positionals.length > 1 || values[operand] !== undefined)
      throw new Error(`Only one ${operand} can be given, not also '${positionals.at(-1)}'.`)
    return { ...values, [operand]: positionals[0] }
  } catch (error) {
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec(error instanceof Error ? error.message : '') ?? []
    if (unknown === undefined) throw error
    const names = Object.keys(table).map(name => `--${name}`)
    throw new Error(`Unknown option '${unknown}'.${suggestNames(unknown, names)}`)
  }
}

/** Joins an option and a value that starts with one dash: Node refuses the pair as ambiguous. */
function withOperands(args: string[], options: ReadonlySet<string>): string[] {
  return args.flatMap((arg, index) => {
    if (isOperand(args, index, options)) return []
    return isOperand(args, index + 1, options) ? [`${arg}=${args[index + 1]}`] : [arg]
  })
}

function isOperand(args: string[], index: number, options: ReadonlySet<string>): boolean {
  return /^-[^-]/.test(args[index] ?? '') && options.has(args[index - 1] ?? '')
}

export function parseAmountOption(option: string, text: string): bigint {
  const nanos = parseUsd(text)
  if (nanos !== undefined && nanos >= 0n) return nanos
  throw new Error(`--${option} must be an amount in US dollars with at most nine decimal places, not "${text}".`)
}

/** Like `parseAmountOption`, but accepts amounts below 0. */
export function parseSignedAmountOption(option: string, text: string): bigint {
  const nanos = parseUsd(text)
  if (nanos !== undefined) return nanos
  throw new Error(
    `--${option} must be an amount in US dollars, above or below 0, with at most nine decimal places, not "${text}".`,
  )
}

export function parseWholeOption(option: string, text: string, most = 9_999_999): number {
  if (/^\d{1,10}$/.test(text) && Number(text) > 0 && Number(text) <= most) return Number(text)
  throw new Error(`--${option} must be a whole number from 1 to ${most}, not "${text}".`)
}

/** A number from 0, or null for "default": the gateway's setting then applies. */
export function parseQuotaOption(option: string, text: string): number | null {
  if (text === 'default') return null
  if (/^\d{1,10}$/.test(text) && Number(text) <= 1_000_000_000) return Number(text)
  throw new Error(`--${option} must be a whole number from 0 to 1000000000, or "default", not "${text}".`)
}

/** An id as the commands print it, or with its prefix, as GraphQL shows it. */
export function parseIdOption(type: IdType, option: string, text: string, other?: string): number {
  const prefix = `${idPrefixes[type]}_`
  const digits = text.startsWith(prefix) ? text.slice(prefix.length) : text
  const most = largeIds.includes(type) ? Number.MAX_SAFE_INTEGER : maxSmallId
  if (/^\d{1,16}$/.test(digits) && Number(digits) > 0 && Number(digits) <= most) return Number(digits)
  const or = other === undefined ? '' : `${other}, or `
  throw new Error(`--${option} must be ${or}an id such as 42 or ${prefix}42, not "${text}".`)
}
const maxSmallId = 2_147_483_647
/** Types whose ids may be greater. */
const largeIds: readonly IdType[] = ['Instance']

export function parseInstantOption(option: string, text: string): Date {
  const at = instant.parse(text)
  if (!at)
    throw new Error(
      `--${option} must be a time such as 2027-01-31T12:00:00Z, or a day such as 2027-01-31, not "${text}".`,
    )
  return at
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** In milliseconds. */
export function parseDurationOption(option: string, text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? []
  const ms = Number(count) * (unitMs[unit as keyof typeof unitMs] ?? 0)
  if (ms > 0 && ms <= 30 * unitMs.d) return ms
  throw new Error(`--${option} must be a time such as 30m, 1h or 2d, at most 30d, not "${text}".`)
}

export function parsePermissionsOption(option: string, text: string): Permissions | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error(`--${option} is not JSON. Write it like this: {"api":{"misc":{},"instance_read":{}}}`)
  }
  const { permissions, issues } = parsePermissions(json)
  if (issues.length > 0) throw invalidInput(issues)
  return permissions
}
