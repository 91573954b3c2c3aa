import { type Issue, invalidInput, joinIssues } from '../errors.ts'
import { textProblem } from '../texts.ts'
import { maxApiKeyNameLength } from './api-keys.ts'
import { parsePermissions } from './permissions/parse.ts'

export type ApiKeyInput = {
  name?: string | null | undefined
  /** As sent; `parsePermissions` checks them. */
  permissions?: unknown
  /** Full access must be explicit: a caller who forgot the permissions does not mean it. */
  fullAccess?: boolean | null | undefined
  expiresAt?: Date | null | undefined
  /** Problems that the face has found. */
  parseIssues?: Issue[] | undefined
}

/** Applies the defaults, or throws every issue at once. Does not compare `expiresAt` with the clock. */
export function parseApiKeyInput({
  name,
  permissions: rawPermissions,
  fullAccess,
  expiresAt,
  parseIssues,
}: ApiKeyInput) {
  const { permissions, issues } = parseAccess(rawPermissions, fullAccess === true)
  const problem = textProblem(name ?? '', maxApiKeyNameLength)
  const all = joinIssues(parseIssues, [...(problem ? [{ path: 'name', message: problem }] : []), ...issues])
  if (all.length > 0) throw invalidInput(all)
  return { name: name ?? '', permissions, expiresAt: expiresAt ?? null }
}

/** An absent part stays as it is. Null permissions are refused before: only a new key can have full access. */
export type ApiKeyChange = {
  name?: string | undefined
  /** As sent; `parsePermissions` checks them. */
  permissions?: object | undefined
  /** Null: the key never expires. */
  expiresAt?: Date | null | undefined
  /** Problems that the face has found. */
  parseIssues?: Issue[] | undefined
}

/** The given parts alone, or throws every issue at once. Does not compare `expiresAt` with the clock. */
export function parseApiKeyChange({ name, permissions: rawPermissions, expiresAt, parseIssues }: ApiKeyChange) {
  const { permissions, issues } = parsePermissions(rawPermissions)
  const problem = textProblem(name ?? '', maxApiKeyNameLength)
  const all = joinIssues(parseIssues, [...(problem ? [{ path: 'name', message: problem }] : []), ...issues])
  if (all.length > 0) throw invalidInput(all)
  return {
    ...(name !== undefined && { name }),
    ...(rawPermissions !== undefined && { permissions }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function parseAccess(rawPermissions: unknown, fullAccess: boolean): ReturnType<typeof parsePermissions> {
  const isGiven = rawPermissions !== undefined && rawPermissions !== null
  if (isGiven !== fullAccess) return parsePermissions(rawPermissions)
  const message = isGiven
    ? 'must be omitted for a key with full access.'
    : 'are required for a key without full access.'
  return { permissions: null, issues: [{ path: 'permissions', message }] }
}
