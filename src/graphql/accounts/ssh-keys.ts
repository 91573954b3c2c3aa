import type { SshKey as SshKeyShape } from '../../domain/accounts/ssh-keys.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

export const SshKey = builder.objectRef<SshKeyShape>('SshKey').implement({
  description:
    'A public key that logs in to instances of its account. An instance gets all that there are when it is rented, but for a container in args mode, which has no SSH server.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `ssh_`.', resolve: ({ id }) => printId('SshKey', id) }),
    name: t.exposeString('name', { description: 'What its owner calls it. May be empty.' }),
    publicKey: t.exposeString('publicKey', { description: 'Its type and the key in base64, without a comment.' }),
    fingerprint: t.exposeString('fingerprint', { description: 'As `ssh-keygen -l` prints it: `SHA256:…`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was registered.' }),
  }),
})

export const sshKeyById = createLoader(({ services, actor }, ids: readonly number[]) =>
  services.sshKeys.byIds(actor, ids),
)

/** The keys of many instances at once. */
export const sshKeysByInstance = createLoader(({ services, actor }, ids: readonly bigint[]) =>
  services.sshKeys.byInstanceIds(actor, ids),
)
