// Connects machines with the engines that run their containers.

import { randomBytes } from 'node:crypto'
import { transaction } from '../../../database/transaction.ts'
import { DomainError, invalidInput } from '../../../domain/errors.ts'
import type { Engine } from '../../../domain/machines/engines.ts'
import { type EngineFacts, findBrokenPromises } from '../../../domain/machines/inspection.ts'
import { isUniqueViolation } from '../../database-errors.ts'
import type { DataDeps } from '../../deps.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import { checkUnused, lockExistingMachine } from '../unused.ts'

export type EngineDeps = DataDeps & {
  /** The secret that all gateways have. */
  secrets: () => Promise<Secrets>
  /** Asks an engine for its facts. Throws if the engine does not answer, or is too old. */
  inspectEngine(engine: Engine): Promise<EngineFacts>
}

type EngineInput = Omit<Engine, 'mark'>

export function engineOperations({ database, secrets, inspectEngine }: EngineDeps) {
  return {
    /**
     * Runs the machine's containers on an engine from now on. A machine with containers keeps its engine and its GPUs. The
     * engine's address and certificates may change.
     */
    async connect(id: number, { url, tls, gpuAccess, gpuUuids }: EngineInput): Promise<EngineFacts> {
      const mark = randomBytes(4).toString('hex')
      const sealed = sealJson(await secrets(), tls)
      const facts = await inspectEngine({ url, tls, mark, gpuAccess, gpuUuids })
      const { identity } = facts
      const connected = transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        const issues = findBrokenPromises(machine, facts, { gpuAccess, gpuUuids })
        if (issues.length > 0) throw invalidInput(issues)
        const row = { url, tls: sealed, gpuAccess, gpuUuids: [...gpuUuids], connectedAt: tx.at }
        const known = await tx.prisma(prisma => prisma.engine.findFirst({ where: { machineId: id, identity } }))
        // Containers keep their GPUs: with other UUIDs, the next rental could get one of them a second time.
        const keepsGpus = known?.gpuAccess === gpuAccess && known.gpuUuids.join() === gpuUuids.join()
        if (!keepsGpus) await checkUnused(tx, machine)
        await tx.prisma(async prisma => {
          if (known) return void (await prisma.engine.update({ where: { machineId: id }, data: row }))
          await prisma.engine.deleteMany({ where: { machineId: id } })
          await prisma.engine.create({ data: { ...row, machineId: id, identity, mark } })
        })
      })
      await connected.catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new DomainError('CONFLICT', 'Another machine has this engine. Disconnect that machine first.', {
          subject: null,
        })
      })
      return facts
    },

    /** Simulates the machine's containers from now on. */
    async disconnect(id: number): Promise<void> {
      await transaction(database, async tx => {
        await checkUnused(tx, await lockExistingMachine(tx, id))
        await tx.prisma(prisma => prisma.engine.deleteMany({ where: { machineId: id } }))
      })
    },
  }
}
