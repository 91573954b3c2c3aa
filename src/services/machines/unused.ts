// Locks machines for operators, and checks that nobody uses them.

import type { Transaction } from '../../database/transaction.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import { lockMachine } from './lock.ts'

export async function lockExistingMachine(tx: Transaction, id: number): Promise<Machine> {
  const machine = await lockMachine(tx, id)
  if (machine) return machine
  throw new DomainError('NOT_FOUND', `There is no machine ${id}.`, { subject: null })
}

/** Throws INVALID_STATE if the machine has instances, volumes, or containers that are still being removed. */
export async function checkUnused(tx: Transaction, { id, freeDiskMb, diskMb }: Machine): Promise<void> {
  const { instances, volumes } = await tx.prisma(async prisma => ({
    instances: await prisma.instance.count({ where: { machineId: id, destroyedAt: null } }),
    volumes: await prisma.volume.count({ where: { machineId: id, deletedAt: null } }),
  }))
  if (instances + volumes > 0) {
    const left = [printCount(instances, 'instance'), printCount(volumes, 'volume')]
      .filter(part => part !== '')
      .join(' and ')
    throw machineInUse(`Machine ${id} still has ${left} on it. Drain the machine, and wait until they are gone.`)
  }
  // A destroyed instance keeps its disk until its container is gone.
  if (freeDiskMb === diskMb) return
  throw machineInUse(`Machine ${id} still removes the containers of destroyed instances. Try again soon.`)
}

/** Throws INVALID_STATE if the machine's engine still has the data of deleted volumes. */
export async function checkDataRemoved(tx: Transaction, { id }: Machine): Promise<void> {
  const where = { machineId: id, machine: { engine: { isNot: null } }, deletedAt: { not: null }, removedAt: null }
  const left = await tx.prisma(prisma => prisma.volume.count({ where }))
  if (left === 0) return
  const data = `the data of ${printCount(left, 'deleted volume')}`
  throw machineInUse(`Machine ${id} still has ${data}. It is removed within a minute, if the engine answers.`)
}

function machineInUse(message: string): DomainError<'INVALID_STATE'> {
  return new DomainError('INVALID_STATE', message, { instanceId: null, cause: null })
}

function printCount(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`
}
