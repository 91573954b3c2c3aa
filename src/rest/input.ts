import type { z } from 'zod'
import { DomainError, type Issue, invalidInput } from '../domain/errors.ts'
import { isObject } from './json-values.ts'
import type { Route } from './route.ts'

type InputSchemas = Pick<Route, 'params' | 'query' | 'body' | 'emptyStringFields'>
type RawInput = { params: Record<string, string>; query: URLSearchParams; body: Record<string, unknown> }

/**
 * Parses a request by its route's schemas, or throws an error that lists every issue. Clients send null and "" for
 * absent values, so both count as absent. Only in the route's `emptyStringFields` is "" a value.
 */
export function parseInput(route: InputSchemas, { params, query, body }: RawInput) {
  const issues: Issue[] = []
  const read = (schema: z.ZodType | undefined, value: Record<string, unknown>): unknown => {
    if (!schema) return value
    const { data, error } = schema.safeParse(value, { error: issueMessage })
    for (const { path, message } of error?.issues ?? []) issues.push({ path: path.join('.'), message })
    return data
  }
  const isPresent = (name: string, value: unknown) =>
    value !== null && (value !== '' || route.emptyStringFields?.includes(name))
  const input = {
    params: read(route.params, params),
    // The first value of a repeated parameter counts.
    query: read(route.query, Object.fromEntries([...query].toReversed())),
    body: read(route.body, Object.fromEntries(Object.entries(body).filter(([name, value]) => isPresent(name, value)))),
  }
  if (issues.length > 0) throw invalidInput(issues)
  return input
}

/** A body is a JSON object. An empty body means {}, whatever its content type. */
export function parseBody(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    const body: unknown = JSON.parse(text)
    if (isObject(body)) return body
  } catch {
    // Refused below.
  }
  throw new DomainError('INVALID_INPUT', 'Invalid json body', { issues: [] })
}

const typeNames: Record<string, string> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** The message of a schema's issue. It reads on from the issue's path. */
const issueMessage: z.core.$ZodErrorMap = issue => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required.' : `must be ${typeNames[issue.expected] ?? issue.expected}.`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}.`
    case 'too_small':
      return `must ${boundText(issue.origin, issue.inclusive ? 'at least' : 'more than', issue.minimum)}.`
    case 'too_big':
      return `must ${boundText(issue.origin, issue.inclusive ? 'at most' : 'less than', issue.maximum)}.`
    default:
      return 'has an invalid format.'
  }
}

const units: Record<string, [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
}

function boundText(origin: string, comparison: string, bound: number | bigint): string {
  const unit = units[origin]
  return unit ? `have ${comparison} ${bound} ${unit[Number(bound) === 1 ? 0 : 1]}` : `be ${comparison} ${bound}`
}
