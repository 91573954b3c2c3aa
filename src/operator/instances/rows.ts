import { printUsd } from '../../domain/money.ts'
import type { InstanceForOperator, InstanceSummary } from '../../services/instances/operator/list.ts'

/** An instance in a list. The status is the one that its renter sees. */
export function presentInstance(instance: InstanceSummary) {
  const { id, account, machineId, status, destroyedAt, reasonCode, targetState, interruptible } = instance
  return {
    ...{
      id,
      account,
      machineId,
      status: destroyedAt ? 'destroyed' : status,
      reason: reasonCode,
      targetState: destroyedAt ? 'destroyed' : targetState,
    },
    ...{ numGpus: instance.numGpus, gpuModel: instance.gpuModel, interruptible },
    ...{ costPerHour: printCost(instance), label: instance.label, createdAt: instance.createdAt, destroyedAt },
  }
}

/** An instance with what an operator looks for when a renter asks. The values of its variables are not shown. */
export function presentWholeInstance({ instance, account, apiKeyId }: InstanceForOperator) {
  const { id, accountId, machine, launch, portBindings, volumes, diskMb, destroyedAt, gpuPriceNanos } = instance
  const { status, reasonCode, reasonMessage, exitCode, targetState, createdAt, startedAt, endsAt, removedAt } = instance
  const policy = { stopAt: instance.stopAt, destroyAt: instance.destroyAt }
  return {
    ...{ id: Number(id), account, accountId, apiKeyId, label: instance.label },
    ...{ status: destroyedAt ? 'destroyed' : status, reason: reasonCode, statusMessage: reasonMessage, exitCode },
    ...{ targetState: destroyedAt ? 'destroyed' : targetState, holdsGpus: instance.holdsGpus },
    statusChangedAt: destroyedAt ?? instance.statusChangedAt,
    ...{ machineId: machine.id, machineAddress: machine.publicIp, gpuModel: machine.gpuModel.name },
    ...{
      firstGpu: instance.firstGpu,
      numGpus: instance.numGpus,
      vm: instance.vm,
      image: launch.image,
      mode: launch.mode,
    },
    ports: portBindings.map(({ hostPort, containerPort, protocol }) => `${hostPort}:${containerPort}/${protocol}`),
    volumes: volumes.map(({ volumeId, mountPath }) => `${volumeId}:${mountPath}`),
    ...{ diskGb: diskMb / 1_000, interruptible: instance.interruptible, gpuPricePerHour: printUsd(gpuPriceNanos) },
    ...{ costPerHour: printCost(instance), createdAt, startedAt, endsAt, ...policy, destroyedAt, removedAt },
  }
}

type Costs = Pick<InstanceSummary, 'gpuPriceNanos' | 'diskNanos' | 'charged' | 'destroyedAt'>

/** What it costs now: a stopped instance costs its disk, a destroyed one nothing. */
function printCost({ gpuPriceNanos, diskNanos, charged, destroyedAt }: Costs): string {
  return printUsd(destroyedAt ? 0n : diskNanos + (charged ? gpuPriceNanos : 0n))
}
