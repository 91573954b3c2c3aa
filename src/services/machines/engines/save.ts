// Stores which engine a machine has, after it was compared with what the machine promises.

import { randomBytes } from 'node:crypto'
import type { Transaction } from '../../../database/transaction.ts'
import { DomainError, invalidInput } from '../../../domain/errors.ts'
import type { MachineEngine } from '../../../domain/machines/engines.ts'
import { type EngineFacts, findBrokenPromises } from '../../../domain/machines/inspection.ts'
import { isUniqueViolation } from '../../database-errors.ts'
import { checkDataRemoved, checkUnused, lockExistingMachine } from '../unused.ts'

export type SavedEngine = Omit<MachineEngine, 'mark' | 'tls'> & { tls: Buffer<ArrayBuffer> | null }

/** A machine with containers keeps its engine and its GPUs. The engine may be reached in another way. */
export async function saveEngine(
  tx: Transaction,
  machineId: number,
  { gpuUuids, ...engine }: SavedEngine,
  facts: EngineFacts,
): Promise<void> {
  const machine = await lockExistingMachine(tx, machineId)
  const { ramMb: gpuRamMb } = await tx.prisma(prisma =>
    prisma.gpuModel.findUniqueOrThrow({ where: { id: machine.gpuModelId }, select: { ramMb: true } }),
  )
  const issues = findBrokenPromises({ ...machine, gpuRamMb }, facts, { gpuAccess: engine.gpuAccess, gpuUuids })
  if (issues.length > 0) throw invalidInput(issues)
  const { identity, limitsDisk } = facts
  const row = { ...engine, gpuUuids: [...gpuUuids], connectedAt: tx.at }
  const mark = randomBytes(4).toString('hex')
  // Whether it gets an address or an agent: the old way ends.
  if (engine.url !== null) await tx.prisma(prisma => prisma.agent.deleteMany({ where: { machineId } }))
  const known = await tx.prisma(prisma => prisma.engine.findFirst({ where: { machineId, identity } }))
  // Containers keep their GPUs: with other UUIDs, the next rental could get one of them a second time.
  const keepsGpus = known?.gpuAccess === engine.gpuAccess && known.gpuUuids.join() === gpuUuids.join()
  if (!keepsGpus) await checkUnused(tx, machine)
  if (!known) await checkDataRemoved(tx, machine)
  try {
    await tx.prisma(async prisma => {
      await prisma.machine.updateMany({ where: { id: machineId }, data: { limitsDisk } })
      if (known) return void (await prisma.engine.update({ where: { machineId }, data: row }))
      await prisma.engine.deleteMany({ where: { machineId } })
      await prisma.engine.create({ data: { ...row, machineId, identity, mark } })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new DomainError('CONFLICT', 'Another machine has this engine. Disconnect that machine first.', {
      subject: null,
    })
  }
}
