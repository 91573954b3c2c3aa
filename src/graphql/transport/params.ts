// The parameters of plain requests, if they have the form that Yoga takes. Yoga says what is wrong with others.

import type { PlainRequest } from '../../http/plain.ts'
import type { OperationParams } from './operation.ts'

export async function readParams({ method, search, readBody }: PlainRequest): Promise<OperationParams | undefined> {
  try {
    return toOperation(method === 'GET' ? parseSearch(search) : JSON.parse((await readBody()) ?? ''))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Yoga takes an empty parameter for one that is absent. */
function parseSearch(search: string): Record<string, unknown> {
  const { variables, ...texts } = Object.fromEntries([...new URLSearchParams(search)].filter(([, text]) => text !== ''))
  return variables === undefined ? texts : { ...texts, variables: JSON.parse(variables) }
}

function toOperation(params: unknown): OperationParams | undefined {
  if (!isObject(params)) return undefined
  const { query, variables, operationName, ...others } = params
  const isPlain =
    typeof query === 'string' &&
    (variables == null || isObject(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    Object.keys(others).length === 0
  return isPlain ? { query, variables, operationName } : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
