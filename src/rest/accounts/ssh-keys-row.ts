import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import type { SelectedSshKey } from '../../services/accounts/ssh-keys/ssh-keys.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

export const sshKeyRowSchema = z
  .object({
    id: integer('ID of the SSH key.'),
    user_id: integer('ID of the account that owns the key.'),
    name: text('Name of the key. May be empty.'),
    public_key: text('Key type and base64 key, without a comment.'),
    ssh_key: text('The same as public_key.'),
    fingerprint: text('Fingerprint as ssh-keygen prints it: "SHA256:…".'),
    created_at: number('Time of registration, in seconds since 1970.'),
    deleted_at: alwaysNull('Always null: deleted keys are not shown.'),
    default: alwaysNull('Always null: every new instance gets all keys.'),
    private_key: alwaysNull('Always null: Berth never has the private key.'),
  })
  .meta({ id: 'SshKey', description: 'A public key for logins to instances.' })

/** What a row shows of a key. */
export const sshKeySelect = { id: true, name: true, publicKey: true, fingerprint: true, createdAt: true } as const

export function sshKeyRow(
  { accountId }: Actor,
  sshKey: SelectedSshKey<typeof sshKeySelect>,
): z.output<typeof sshKeyRowSchema> {
  const { id, name, publicKey, fingerprint, createdAt } = sshKey
  return {
    id,
    user_id: accountId,
    name,
    public_key: publicKey,
    ssh_key: publicKey,
    fingerprint,
    created_at: createdAt.getTime() / 1000,
    deleted_at: null,
    default: null,
    private_key: null,
  }
}
