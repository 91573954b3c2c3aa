import { parsePublicKey } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../../domain/errors.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { attachServices } from './attach.ts'
import { createSshKeyServices, fingerprintOf } from './create.ts'
import { findSshKeys, type SelectedSshKey, type SshKeySelect } from './ssh-keys.ts'

export function attachByPublicKeyServices(deps: Deps) {
  const { attach } = attachServices(deps)
  const { create } = createSshKeyServices(deps)

  return {
    /**
     * Attaches a key to a container by the text of the key. Registers a key that the account does not have, for which the
     * actor also needs the permission to register keys.
     */
    async attachByPublicKey<Select extends SshKeySelect>(
      actor: Actor,
      instanceId: bigint,
      publicKey: string,
      select: Select,
    ): Promise<{ sshKey: SelectedSshKey<Select>; outcome: 'applied' | 'unchanged' }> {
      authorize(actor, 'instances.attachSshKey', { id: Number(instanceId) })
      const key = parsePublicKey(publicKey)
      if (typeof key === 'string') throw invalidInput([{ path: 'publicKey', message: key }])
      const known = await findByBlob(actor, key.blob, select)
      if (known) return { sshKey: known, outcome: await attach(actor, instanceId, known.id) }
      try {
        const { sshKey } = await create(actor, { publicKey, instanceIds: [instanceId] }, select)
        return { sshKey, outcome: 'applied' }
      } catch (error) {
        // Another request registered the key meanwhile.
        const registered = error instanceof DomainError && error.code === 'CONFLICT' && error.details.subject
        if (!registered) throw error
        const sshKey = await findByBlob(actor, key.blob, select)
        if (!sshKey) throw notFound('SshKey', registered.id)
        return { sshKey, outcome: await attach(actor, instanceId, sshKey.id) }
      }
    },
  }

  async function findByBlob<Select extends SshKeySelect>(actor: Actor, blob: Uint8Array, select: Select) {
    const [found] = await findSshKeys(deps.database.prisma, actor, { fingerprint: fingerprintOf(blob) }, select)
    return found
  }
}
