import { importMachineColumns } from '../domain/machines/import-columns.ts'
import { machineStateOf } from '../domain/machines/state.ts'
import { printUsd } from '../domain/money.ts'
import type { MachineSummary } from '../services/machines/list.ts'

/** A machine in a list. */
export function presentMachine(machine: MachineSummary) {
  const { drainedAt, unlistedAt, unconfirmedAt, unreachableSince, freePorts, listedUntil, limitsDisk } = machine
  const { instances, volumes, engine } = machine
  return {
    id: machine.id,
    host: machine.host,
    state: machineStateOf(machine),
    gpuModel: machine.gpuName,
    numGpus: machine.numGpus,
    freeGpus: machine.freeGpus,
    diskGb: machine.diskMb / 1_000,
    freeDiskGb: machine.freeDiskMb / 1_000,
    freePorts,
    pricePerGpuHour: printUsd(machine.gpuNanos),
    minimumBidPerGpuHour: printUsd(machine.minBidGpuNanos),
    storagePricePerGbMonth: printUsd(machine.diskPricePerGbMonthNanos),
    listedUntil,
    drainedAt,
    unlistedAt,
    unconfirmedAt,
    unreachableSince,
    instances,
    volumes,
    engine,
    limitsDisk,
  }
}

/** A machine with all of its facts, named as the columns of an import. */
export function presentFacts(machine: MachineSummary) {
  const facts = Object.entries(machine).filter(([name]) => Object.hasOwn(importMachineColumns, name))
  return {
    ...presentMachine(machine),
    downloadPricePerGb: printUsd(machine.downloadPricePerGbNanos),
    uploadPricePerGb: printUsd(machine.uploadPricePerGbNanos),
    cpuRamGb: machine.cpuRamMb / 1_000,
    ...Object.fromEntries(facts),
  }
}
