// Joins a host: checks what its engine says, and stores the hash of its key.

import { Prisma } from '../../../database/generated/client.ts'
import { enumeration, int4, nullable } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { DomainError, invalidInput } from '../../../domain/errors.ts'
import { inviteTokenRefusal } from '../../../domain/machines/agents.ts'
import type { GpuAccess } from '../../../domain/machines/engines.ts'
import type { EngineFacts } from '../../../domain/machines/inspection.ts'
import { isUniqueViolation } from '../../database-errors.ts'
import type { DataDeps } from '../../deps.ts'
import { saveEngine } from '../engines/save.ts'
import { lockExistingMachine } from '../unused.ts'
import { hashOf } from './secrets.ts'

const { sql } = Prisma

const inviteRow = { machineId: int4, gpuAccess: nullable(enumeration<GpuAccess>()) }

export type JoiningHost = { token: string; key: string; facts: EngineFacts; gpuUuids: readonly string[] }

export function joinServices({ database }: DataDeps) {
  /** A token is used once, also by two hosts at the same time: the second finds no row after the first has deleted it. */
  async function useInvite(
    tx: Transaction,
    tokenHash: Buffer,
  ): Promise<{ machineId: number; gpuAccess: GpuAccess | null }> {
    const isValid = sql`token_hash = ${tokenHash} AND expires_at > ${tx.nowSql}`
    const [found] = await tx.query(sql`SELECT machine_id FROM host_invites WHERE ${isValid}`, { machineId: int4 })
    // The machine's lock comes first, as in every transaction.
    if (found) await lockExistingMachine(tx, found.machineId)
    const [used] = await tx.query(
      sql`DELETE FROM host_invites WHERE ${isValid} RETURNING machine_id, gpu_access`,
      inviteRow,
    )
    if (used) return used
    throw new DomainError('UNAUTHENTICATED', inviteTokenRefusal)
  }

  return {
    /** A host that is refused may repair what is wrong, and use its token again. */
    async join({ token, key, facts, gpuUuids }: JoiningHost): Promise<{ machineId: number }> {
      return await transaction(database, async tx => {
        const { machineId, gpuAccess: allowed } = await useInvite(tx, hashOf(token))
        const gpuAccess = chooseGpuAccess(allowed, facts, gpuUuids)
        const used = { gpuAccess, gpuUuids: gpuAccess === 'none' ? [] : [...gpuUuids] }
        await saveEngine(tx, machineId, { url: null, tls: null, ...used }, facts)
        await saveKey(tx, machineId, key)
        return { machineId }
      })
    },
  }
}

async function saveKey(tx: Transaction, machineId: number, key: string): Promise<void> {
  try {
    await tx.execute(
      sql`INSERT INTO agents (machine_id, key_hash, joined_at) VALUES (${machineId}, ${hashOf(key)}, ${tx.at})
        ON CONFLICT (machine_id) DO UPDATE SET key_hash = EXCLUDED.key_hash, joined_at = EXCLUDED.joined_at,
          gateway_id = NULL, held_until = NULL`,
    )
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    const message = 'Another machine has the key of this host. Join again with another.'
    throw new DomainError('CONFLICT', message, { subject: null })
  }
}

/** Without GPUs only if the operator allows it. */
function chooseGpuAccess(allowed: GpuAccess | null, { gpuAccesses }: EngineFacts, uuids: readonly string[]): GpuAccess {
  if (allowed !== null) return allowed
  const message =
    'are not there: nvidia-smi shows none on this host. To join without GPUs, the operator invites with --gpu-access none.'
  if (uuids.length === 0) throw invalidInput([{ path: 'gpus', message }])
  // Engines name folders for CDI even if nothing is in them, but a runtime only if it is installed.
  return gpuAccesses.includes('nvidia') ? 'nvidia' : 'cdi'
}
