// Conditions on one field of a filter. All that are given must hold.

import type { Issue } from './errors.ts'
import { textProblem } from './texts.ts'

/** Most values of `in` and `nin`. */
export const maxValuesPerCondition = 200

export type EqualityConditions<Value> = {
  eq?: Value | undefined
  neq?: Value | undefined
  in?: Value[] | undefined
  nin?: Value[] | undefined
}

/** Conditions on a text, ignoring case. A missing text is compared as "". */
export type TextConditions = EqualityConditions<string> & {
  contains?: string | undefined
  startsWith?: string | undefined
}

/** Refuses long lists, and texts that no row can contain. */
export function textConditionIssues(conditions: TextConditions, path: string): Issue[] {
  const texts = Object.entries(conditions).flatMap(([operator, value]) =>
    [value ?? []].flat().flatMap(text => {
      const message = textProblem(text)
      return message ? [{ path: `${path}.${operator}`, message }] : []
    }),
  )
  return [...listConditionIssues(conditions, path), ...texts]
}

export function listConditionIssues(conditions: EqualityConditions<unknown> | undefined, path: string): Issue[] {
  return (['in', 'nin'] as const).flatMap(operator => {
    const count = conditions?.[operator]?.length ?? 0
    const message = `takes at most ${maxValuesPerCondition} values, not ${count}.`
    return count > maxValuesPerCondition ? [{ path: `${path}.${operator}`, message }] : []
  })
}
