// Invites hosts: a token lets one computer join as a machine, once.

import { randomBytes } from 'node:crypto'
import { Prisma } from '../../../database/generated/client.ts'
import { timestamptz } from '../../../database/row-types.ts'
import { transaction } from '../../../database/transaction.ts'
import { printInviteToken } from '../../../domain/machines/agents.ts'
import type { GpuAccess } from '../../../domain/machines/engines.ts'
import type { DataDeps } from '../../deps.ts'
import { lockExistingMachine } from '../unused.ts'
import { hashOf } from './secrets.ts'

const { sql } = Prisma

export type Invitation = {
  /** Null if the host's engine decides. */
  gpuAccess: GpuAccess | null
  validMs: number
  allowsUnreachablePorts?: boolean
}

export function inviteOperations({ database }: DataDeps) {
  return {
    /** Replaces an earlier token of the machine, and revokes the key of its host. Containers go on meanwhile. */
    async invite(
      machineId: number,
      { gpuAccess, validMs, allowsUnreachablePorts = false }: Invitation,
    ): Promise<{ token: string; expiresAt: Date }> {
      const token = printInviteToken(randomBytes(32).toString('base64url'))
      const expiresAt = await transaction(database, async tx => {
        await lockExistingMachine(tx, machineId)
        await tx.execute(
          sql`UPDATE agents SET key_hash = NULL, gateway_id = NULL, held_until = NULL, released_at = ${tx.nowSql}
            WHERE machine_id = ${machineId}`,
        )
        const [row] = await tx.query(
          sql`INSERT INTO host_invites (machine_id, token_hash, gpu_access, allows_unreachable_ports, expires_at)
            VALUES (${machineId}, ${hashOf(token)}, ${gpuAccess}::gpu_access, ${allowsUnreachablePorts},
              ${tx.nowSql} + ${validMs} * interval '1 millisecond')
            ON CONFLICT (machine_id) DO UPDATE SET (token_hash, gpu_access, allows_unreachable_ports, expires_at)
              = (EXCLUDED.token_hash, EXCLUDED.gpu_access, EXCLUDED.allows_unreachable_ports, EXCLUDED.expires_at)
            RETURNING expires_at`,
          { expiresAt: timestamptz },
        )
        return row?.expiresAt as Date
      })
      return { token, expiresAt }
    },
  }
}
