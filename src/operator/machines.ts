import { commonModels } from '../../prisma/seed.ts'
import { printUsd } from '../domain/money.ts'
import type { MachineSummary } from '../services/machines/list.ts'
import type { Operations } from '../services/operations.ts'
import { defineCommand, type OperatorCommand, readAllRows } from './command.ts'
import { formatOf, readMachinesFile } from './machines-file.ts'
import { columnsHelp } from './machines-help.ts'
import { parseIdOption } from './options.ts'

const idOption = { id: { required: true, meaning: 'id of the machine, as "machine list" prints it' } } as const

export const machineCommands = {
  'machine import': defineCommand(
    {
      summary:
        'Imports the machines in a file and lists them on the market. If the file has any problem, imports none.',
      options: {
        file: { required: true, meaning: 'CSV with a header, a JSON array, or JSON with one machine per line' },
        host: { required: true, meaning: 'email address of the account that owns the machines' },
        format: { meaning: 'csv or json (default: by the ending of the file name)' },
        'dry-run': { flag: true, meaning: 'check the file without importing' },
      },
      notes: columnsHelp,
    },
    ({ file, host: hostEmail, format, 'dry-run': dryRun }) => {
      const rows = readMachinesFile(file, formatOf(file, format))
      return async ({ machines }) => ({
        ...(await machines.import({ hostEmail, rows, catalog: commonModels, dryRun })),
        dryRun,
      })
    },
  ),
  'machine list': defineCommand(
    {
      summary: 'Lists machines: their capacity, the free part of it, their instances and volumes.',
      options: { host: { meaning: 'only machines of the account with this email address' } },
    },
    ({ host }) =>
      operations =>
        listMachines(operations, host),
  ),
  'machine drain': defineCommand(
    { summary: 'Stops new rentals on a machine. Its instances and volumes stay.', options: idOption },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ machines }) => machines.drain(machineId).then(() => readMachine(machines, machineId))
    },
  ),
  'machine resume': defineCommand(
    { summary: 'Puts a drained or unlisted machine back on the market.', options: idOption },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ machines }) => machines.resume(machineId).then(() => readMachine(machines, machineId))
    },
  ),
  'machine unlist': defineCommand(
    { summary: 'Takes a machine off the market. It must have no instances or volumes left.', options: idOption },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ machines }) => machines.unlist(machineId).then(() => readMachine(machines, machineId))
    },
  ),
  'machine unplug': defineCommand(
    {
      summary: 'Disconnects a simulated machine: it stops answering, but its containers keep running.',
      options: idOption,
    },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ machines }) => machines.unplug(machineId).then(() => ({ id: machineId, answers: false }))
    },
  ),
  'machine plug': defineCommand(
    { summary: 'Reconnects a simulated machine that was unplugged.', options: idOption },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ machines }) => machines.plug(machineId).then(() => ({ id: machineId, answers: true }))
    },
  ),
} satisfies Record<string, OperatorCommand>

async function readMachine(machines: Operations['machines'], machineId: number) {
  return presentMachine(await machines.byId(machineId))
}

async function* listMachines({ accounts, machines }: Operations, host: string | undefined) {
  const hostId = host === undefined ? undefined : (await accounts.find(host)).id
  for await (const machine of readAllRows((after, limit) => machines.page(after, limit, hostId)))
    yield presentMachine(machine)
}

function presentMachine(machine: MachineSummary) {
  const { drainedAt, unlistedAt, unconfirmedAt, freePorts, listedUntil, limitsDisk, instances, volumes, engine } =
    machine
  return {
    id: machine.id,
    host: machine.host,
    state: unlistedAt ? 'unlisted' : drainedAt ? 'draining' : unconfirmedAt ? 'suspended' : 'listed',
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
    instances,
    volumes,
    engine,
    limitsDisk,
  }
}
