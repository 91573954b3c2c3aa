/**
 * Why a connection was closed. `revoked`: the agent must not connect again. `replaced`: the host has a later connection, so it
 * waits long before it does.
 */
export const closeCodes = {
  ...{ unused: 1000, leaving: 1001, stopping: 1012, failed: 1013 },
  ...{ broken: 4400, revoked: 4401, replaced: 4409 },
} as const
