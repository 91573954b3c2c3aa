// Commands for the instances of all renters.

import { instanceStatuses } from '../../domain/instances/states.ts'
import { suggestNames } from '../../domain/nearest.ts'
import { findAccountId, parseOptionalAccount } from '../accounts/name.ts'
import { type CommandOperations, defineCommand, type OperatorCommand, readAllRows } from '../command.ts'
import { parseIdOption, parseWholeOption } from '../options.ts'
import { presentInstance, presentWholeInstance } from './rows.ts'

const idOption = { id: { required: true, meaning: 'id of the instance, as "instance list" prints it' } } as const
const reasonOption = {
  reason: { required: true, meaning: 'why; the renter reads it, so write it for the renter' },
} as const

export const instanceCommands = {
  'instance list': defineCommand(
    {
      summary: 'Lists the instances of all renters, without those that are destroyed.',
      columns: ['id', 'account', 'machineId', 'status', 'reason', 'numGpus', 'gpuModel', 'costPerHour'],
      options: {
        account: { meaning: 'only instances of the account with this email address or id' },
        machine: { meaning: 'only instances on the machine with this id' },
        status: { meaning: 'only instances with one of these statuses, such as running,loading; also: destroyed' },
      },
    },
    ({ account, machine, status }) => {
      const filter = {
        ...(machine !== undefined && { machineId: { eq: BigInt(parseIdOption('Machine', 'machine', machine)) } }),
        ...(status !== undefined && { status: status.split(',').map(parseStatus) }),
      }
      const renter = parseOptionalAccount(account)
      return async function* ({ accounts, instances }) {
        const accountId = await findAccountId({ accounts }, renter)
        const page = (after: number, limit: number) => instances.page({ ...filter, accountId }, after, limit)
        for await (const instance of readAllRows(page)) yield presentInstance(instance)
      }
    },
  ),
  'instance show': defineCommand(
    { summary: 'Prints one instance of any renter, also if it is destroyed.', options: idOption },
    options => {
      const id = parseInstanceId(options.id)
      return operations => showInstance(operations, id)
    },
  ),
  'instance stop': defineCommand(
    {
      summary: 'Stops an instance of any renter, who reads the reason and may start it again.',
      options: { ...idOption, ...reasonOption },
    },
    ({ id: text, reason }) => {
      const id = parseInstanceId(text)
      return async operations => {
        const changed = await operations.instances.stop(id, reason)
        return { ...(await showInstance(operations, id)), changed }
      }
    },
  ),
  'instance destroy': defineCommand(
    {
      summary: 'Destroys an instance of any renter, with its disk. The renter reads the reason.',
      options: { ...idOption, ...reasonOption },
    },
    ({ id: text, reason }) => {
      const id = parseInstanceId(text)
      return async operations => {
        const changed = await operations.instances.destroy(id, reason)
        return { ...(await showInstance(operations, id)), changed }
      }
    },
  ),
  'instance logs': defineCommand(
    {
      summary: 'Prints the last lines of the log of an instance of any renter.',
      options: { ...idOption, tail: { meaning: 'number of lines, at most 1000 (default: 100)' } },
      lineOf: ({ printedAt, source, text }) => `${printedAt} ${source} ${text}`,
    },
    ({ id: text, tail = '100' }) => {
      const id = parseInstanceId(text)
      const count = parseWholeOption('tail', tail, 1_000)
      return async function* ({ instanceLogs }) {
        for (const { printedAt, source, text: line } of await instanceLogs.lines(id, count))
          yield { printedAt: printedAt.toISOString(), source, text: line }
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

async function showInstance({ instances }: CommandOperations, id: bigint) {
  return presentWholeInstance(await instances.byId(id))
}

function parseInstanceId(text: string): bigint {
  return BigInt(parseIdOption('Instance', 'id', text))
}

const statuses = [...instanceStatuses, 'destroyed'] as const

/** In the letters of the commands, or of GraphQL. */
function parseStatus(text: string): (typeof statuses)[number] {
  const status = statuses.find(name => name === text.trim().toLowerCase())
  if (status) return status
  const meant = suggestNames(text, statuses) || ` The statuses are ${statuses.join(', ')}.`
  throw new Error(`--status has the unknown status "${text}".${meant}`)
}
