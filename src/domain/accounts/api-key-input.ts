import { invalidInput } from '../errors.ts'
import { textProblem } from '../texts.ts'
import { maxApiKeyNameLength } from './api-keys.ts'
import { parsePermissions } from './permissions/parse.ts'

export type ApiKeyInput = {
  name?: string | null | undefined
  /** As they were written. */
  permissions?: unknown
  /** Full access must be said: a caller who forgot the permissions does not mean everything. */
  fullAccess?: boolean | null | undefined
  expiresAt?: Date | null | undefined
}

/** The wish with its defaults, or everything that is wrong with it. Only the clock is not asked yet. */
export function parseApiKeyInput({ name, permissions: written, fullAccess, expiresAt }: ApiKeyInput) {
  const { permissions, issues } = parseAccess(written, fullAccess === true)
  const problem = textProblem(name ?? '', maxApiKeyNameLength)
  const all = [...(problem ? [{ path: 'name', message: problem }] : []), ...issues]
  if (all.length > 0) throw invalidInput(all)
  return { name: name ?? '', permissions, expiresAt: expiresAt ?? null }
}

function parseAccess(written: unknown, fullAccess: boolean): ReturnType<typeof parsePermissions> {
  const isGiven = written !== undefined && written !== null
  if (isGiven !== fullAccess) return parsePermissions(written)
  const message = isGiven
    ? 'cannot be given beside full access.'
    : 'are required, unless the key is to have full access.'
  return { permissions: null, issues: [{ path: 'permissions', message }] }
}
