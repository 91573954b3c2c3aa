import type { Permissions } from './permissions.ts'

/** Who asks: an account, through one of its keys. Null permissions are full access. */
export type Actor = { accountId: number; apiKeyId: number; permissions: Permissions | null }
