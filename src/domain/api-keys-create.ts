import { maxApiKeyName } from './api-keys.ts'
import { invalidInput } from './errors.ts'
import { readPermissions } from './permissions-read.ts'
import { textProblem } from './texts.ts'

export type ApiKeyWish = {
  name?: string | null | undefined
  /** As they were written. Absent or null means full access. */
  permissions?: unknown
  expiresAt?: Date | null | undefined
}

/** The wish with what it leaves out, or everything that is wrong with it, but for what only a clock can tell. */
export function readApiKeyWish({ name, permissions: written, expiresAt }: ApiKeyWish) {
  const { permissions, issues } = readPermissions(written)
  const problem = textProblem(name ?? '', maxApiKeyName)
  const all = [...(problem ? [{ path: 'name', message: problem }] : []), ...issues]
  if (all.length > 0) throw invalidInput(all)
  return { name: name ?? '', permissions, expiresAt: expiresAt ?? null }
}
