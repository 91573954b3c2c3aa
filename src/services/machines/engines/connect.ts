// Connects machines with the engines that run their containers.

import { transaction } from '../../../database/transaction.ts'
import type { Engine } from '../../../domain/machines/engines.ts'
import type { EngineFacts } from '../../../domain/machines/inspection.ts'
import type { DataDeps } from '../../deps.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import { checkDataRemoved, checkUnused, lockExistingMachine } from '../unused.ts'
import { saveEngine } from './save.ts'

export type EngineDeps = DataDeps & {
  /** The secret that all gateways have. */
  secrets: () => Promise<Secrets>
  /** Asks an engine for its facts. Throws if the engine does not answer, or is too old. */
  inspectEngine(engine: Pick<Engine, 'url' | 'tls'>): Promise<EngineFacts>
}

type EngineInput = Omit<Engine, 'mark'>

export function engineOperations({ database, secrets, inspectEngine }: EngineDeps) {
  return {
    /**
     * Runs the machine's containers on an engine from now on. A machine with containers keeps its engine and its GPUs. The
     * engine's address and certificates may change.
     */
    async connect(id: number, { url, tls, gpuAccess, gpuUuids }: EngineInput): Promise<EngineFacts> {
      const sealed = sealJson(await secrets(), tls)
      const facts = await inspectEngine({ url, tls })
      await transaction(database, tx => saveEngine(tx, id, { url, tls: sealed, gpuAccess, gpuUuids }, facts))
      return facts
    },

    /** Simulates the machine's containers from now on. */
    async disconnect(id: number): Promise<void> {
      await transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        await checkUnused(tx, machine)
        await checkDataRemoved(tx, machine)
        await tx.prisma(async prisma => {
          await prisma.engine.deleteMany({ where: { machineId: id } })
          await prisma.machine.updateMany({ where: { id }, data: { limitsDisk: true } })
        })
      })
    },
  }
}
