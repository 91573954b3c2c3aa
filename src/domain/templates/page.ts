import { type TextConditions, textConditionIssues } from '../conditions.ts'
import { invalidInput } from '../errors.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'

/** All given parts must match. */
export type TemplateFilter = {
  mine?: boolean | undefined
  name?: TextConditions | undefined
  public?: boolean | undefined
}

export function checkTemplateFilter({ name = {} }: TemplateFilter): void {
  const issues = textConditionIssues(name, 'filter.name')
  if (issues.length > 0) throw invalidInput(issues)
}

const scope = 'templates by id desc'

export function printTemplateCursor(id: number): string {
  return printCursor(scope, [id])
}

export function parseTemplateCursor(cursor: string): number {
  const [id, ...rest] = parseCursor(cursor, scope)
  if (typeof id === 'number' && Number.isInteger(id) && rest.length === 0 && Math.abs(id) < 2 ** 31) return id
  throw invalidCursor()
}
