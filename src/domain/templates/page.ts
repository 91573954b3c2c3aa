import { invalidInput } from '../errors.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import { textProblem } from '../texts.ts'

/** All given parts must match. `name` matches any part of a template's name, ignoring case. */
export type TemplateFilter = { mine?: boolean | undefined; name?: string | undefined; public?: boolean | undefined }

export function checkTemplateFilter({ name = '' }: TemplateFilter): void {
  const message = textProblem(name)
  if (message) throw invalidInput([{ path: 'filter.name', message }])
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
