import { invalidInput } from '../errors.ts'
import { textProblem } from '../texts.ts'
import { maxApiKeyName } from './api-keys.ts'
import { readPermissions } from './permissions/read.ts'

export type ApiKeyWish = {
  name?: string | null | undefined
  /** As they were written. */
  permissions?: unknown
  /** Full access must be said: a caller who forgot the permissions does not mean everything. */
  fullAccess?: boolean | null | undefined
  expiresAt?: Date | null | undefined
}

/** The wish with its defaults, or everything that is wrong with it. Only the clock is not asked yet. */
export function readApiKeyWish({ name, permissions: written, fullAccess, expiresAt }: ApiKeyWish) {
  const { permissions, issues } = readAccess(written, fullAccess === true)
  const problem = textProblem(name ?? '', maxApiKeyName)
  const all = [...(problem ? [{ path: 'name', message: problem }] : []), ...issues]
  if (all.length > 0) throw invalidInput(all)
  return { name: name ?? '', permissions, expiresAt: expiresAt ?? null }
}

function readAccess(written: unknown, fullAccess: boolean): ReturnType<typeof readPermissions> {
  const isGiven = written !== undefined && written !== null
  if (isGiven !== fullAccess) return readPermissions(written)
  const message = isGiven
    ? 'cannot be given beside full access.'
    : 'are required, unless the key is to have full access.'
  return { permissions: null, issues: [{ path: 'permissions', message }] }
}
