import { z } from 'zod'
import type { SshKey } from '../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../domain/actor.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

export const sshKeyRowSchema = z
  .object({
    id: integer('The SSH key.'),
    user_id: integer('The account that it belongs to.'),
    name: text('What its owner calls it. May be empty.'),
    public_key: text('Its type, and the key in base64, without a comment.'),
    ssh_key: text('The same as public_key.'),
    fingerprint: text('As ssh-keygen prints it: "SHA256:…".'),
    created_at: number('When it was registered, in seconds since 1970.'),
    deleted_at: alwaysNull('Always null: a deleted key is not shown.'),
    default: alwaysNull('Always null: every new instance gets all keys.'),
    private_key: alwaysNull('Always null: nobody but its owner has it.'),
  })
  .meta({ id: 'SshKey', description: 'A public key that logs in to instances.' })

export function sshKeyRow({ accountId }: Actor, sshKey: SshKey): z.output<typeof sshKeyRowSchema> {
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
