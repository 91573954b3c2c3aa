// Hosts that join with an agent. A token invites one host, once. A key then identifies it until the operator takes the
// machine away or invites again. Only hashes of both are stored.

const secret = '[0-9A-Za-z_-]{43}'
const tokenFormat = new RegExp(`^berth_invite_${secret}$`)
const keyFormat = new RegExp(`^berth_host_${secret}$`)

/** `random`: 32 random bytes, in base64url. */
export const printInviteToken = (random: string): string => `berth_invite_${random}`
export const printHostKey = (random: string): string => `berth_host_${random}`

export const isInviteToken = (text: string): boolean => tokenFormat.test(text)
export const isHostKey = (text: string): boolean => keyFormat.test(text)

export const inviteTokenRefusal =
  'The token is not valid: it was used, it has expired, or a newer one replaced it. "machine invite" makes another.'
export const hostKeyRefusal =
  'The key of this host is not valid: the operator has revoked it. Join again with a token of "machine invite".'
