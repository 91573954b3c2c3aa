import { commonModels } from '../../prisma/seed.ts'
import { changeableColumns } from '../domain/machines/changes.ts'
import { importColumns } from '../domain/machines/import-columns.ts'
import type { AccountName } from '../services/accounts/accounts.ts'
import type { Operations } from '../services/operations.ts'
import { accountOption, findAccountId, parseAccountOption, parseOptionalAccount } from './accounts/name.ts'
import { defineCommand, type OperatorCommand, readAllRows } from './command.ts'
import { presentFacts, presentMachine } from './machine-rows.ts'
import { formatOf, readMachinesFile } from './machines-file.ts'
import { columnsHelp } from './machines-help.ts'
import { type OptionTable, parseIdOption } from './options.ts'

/** Each column that can be changed, as an import file names it. */
const columnOptions: OptionTable = Object.fromEntries(
  changeableColumns.map(name => {
    const { type, meaning } = importColumns[name] as (typeof importColumns)[string]
    return [name, { meaning: `${meaning} (${type.expected})` }]
  }),
)

const idOption = { id: { required: true, meaning: 'id of the machine, as "machine list" prints it' } } as const

export const machineCommands = {
  'machine import': defineCommand(
    {
      summary:
        'Imports the machines in a file and lists them on the market. If the file has any problem, imports none.',
      options: {
        file: { required: true, meaning: 'CSV with a header, a JSON array, or JSON with one machine per line' },
        account: { ...accountOption, required: true, also: ['host'] },
        format: { meaning: 'csv or json (default: by the ending of the file name)' },
        'dry-run': { flag: true, meaning: 'check the file without importing' },
      },
      notes: columnsHelp,
    },
    ({ file, account, format, 'dry-run': dryRun }) => {
      const host = parseAccountOption(account)
      const rows = readMachinesFile(file, formatOf(file, format))
      return async ({ machines }) => ({
        ...(await machines.import({ host, rows, catalog: commonModels, dryRun })),
        dryRun,
      })
    },
  ),
  'machine list': defineCommand(
    {
      summary: 'Lists machines: their capacity, the free part of it, their instances and volumes.',
      columns: ['id', 'host', 'state', 'gpuModel', 'numGpus', 'freeGpus', 'pricePerGpuHour', 'unreachableSince'],
      options: { account: { meaning: 'only machines of the account with this email address or id', also: ['host'] } },
    },
    ({ account }) => {
      const host = parseOptionalAccount(account)
      return operations => listMachines(operations, host)
    },
  ),
  'machine show': defineCommand(
    { summary: 'Prints one machine, with all of its facts.', options: idOption },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return async ({ machines }) => presentFacts(await machines.byId(machineId))
    },
  ),
  'machine set': defineCommand(
    {
      summary:
        'Changes prices or facts of a machine. What is rented keeps its price and its end. The offers of the machine get new ids.',
      options: { ...idOption, ...columnOptions },
    },
    ({ id, ...columns }) => {
      const machineId = parseIdOption('Machine', 'id', id)
      const given = Object.entries(columns as Record<string, string | undefined>).filter(
        ([, text]) => text !== undefined,
      )
      if (given.length === 0) throw new Error('Nothing to change is given, such as --pricePerGpuHour 0.35.')
      return async ({ machines }) => {
        await machines.change(machineId, Object.fromEntries(given) as Record<string, string>)
        return presentFacts(await machines.byId(machineId))
      }
    },
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

async function* listMachines({ accounts, machines }: Operations, host: AccountName | undefined) {
  const hostId = await findAccountId({ accounts }, host)
  for await (const machine of readAllRows((after, limit) => machines.page(after, limit, hostId)))
    yield presentMachine(machine)
}
