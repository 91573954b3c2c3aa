import { builder } from '../builder.ts'
import { printId, printName } from '../ids.ts'
import { createRequiredSelectedLoader, createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

export const SshKey = builder.prismaObject('SshKey', {
  select: { id: true },
  description:
    'A public key that logs in to instances of the account. A new instance gets all SSH keys of the account. The exception is a container in `args` mode, which has no SSH server.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the SSH key, such as `ssh_42`.', resolve: ({ id }) => printId('SshKey', id) }),
    name: t.string({
      description: 'Name of the SSH key. Its ID if it was given none and has no comment.',
      select: { name: true },
      resolve: key => printName('SshKey', key),
    }),
    publicKey: t.exposeString('publicKey', {
      description: 'The public key: its type and the key in base64, without a comment.',
    }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Fingerprint as `ssh-keygen -l` prints it: `SHA256:…`.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the SSH key was added to the account.' }),
  }),
})

export const sshKeyById = createSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.sshKeys.byIds(actor, ids, select),
)

export const sshKeysByInstance = createRequiredSelectedLoader(({ services, actor }, ids: readonly bigint[], select) =>
  services.sshKeys.byInstanceIds(actor, ids, select),
)
