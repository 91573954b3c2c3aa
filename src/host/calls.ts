// What the agent does for each call of a gateway. A host has one machine, so calls name none.

import type { ContainerRef } from '../domain/instances/containers.ts'
import type { ArgsOf, Method, ResultOf } from '../providers/agent/protocol/calls.ts'
import { maxMessageBytes } from '../providers/agent/protocol/messages.ts'
import type { BranchTarget } from '../providers/agent/protocol/values.ts'
import type { Provider } from '../providers/provider.ts'
import type { Processes } from './processes.ts'

export type CallContext = {
  machineId: number
  provider: Provider
  processes: Processes
  signal: AbortSignal
  /** The number of the call, and of its streams. */
  id: number
  onChange(instanceId: bigint): void
  openBranch(target: BranchTarget, signal: AbortSignal): Promise<void>
}
type Handlers = { [Name in Method]: (args: ArgsOf<Name>, context: CallContext) => Promise<ResultOf<Name>> }

const nothing = async (done: Promise<void>): Promise<null> => {
  await done
  return null
}
const containerOf = ({ instanceId, accountId }: ArgsOf<'observe'>, { machineId }: CallContext): ContainerRef => ({
  ...{ machineId, instanceId, accountId },
})

export const handlers: Handlers = {
  observe: (args, at) => at.provider.observe(containerOf(args, at), at.signal),
  ensure({ spec }, { provider, machineId, signal }) {
    return nothing(provider.ensure({ ...spec, machineId, registry: spec.registry }, signal))
  },
  setSshKeys: (args, at) => nothing(at.provider.setSshKeys(containerOf(args, at), args.sshKeys, at.signal)),
  start: (args, at) => nothing(at.provider.start(containerOf(args, at), at.signal)),
  stop: (args, at) => nothing(at.provider.stop(containerOf(args, at), at.signal)),
  remove: (args, at) => nothing(at.provider.remove(containerOf(args, at), at.signal)),
  async logs(args, at) {
    const lines = await at.provider.logs(containerOf(args, at), args.range, at.signal)
    return fittingLines(lines, args.range.after !== undefined)
  },
  exec: (args, at) => at.provider.exec(containerOf(args, at), args.command, at.signal),
  inventory: (_, { provider, machineId, signal }) => provider.inventory(machineId, signal),
  stats: (_, { provider, machineId, signal }) => provider.stats(machineId, signal),
  removeVolume({ volumeId }, { provider, machineId, signal }) {
    return nothing(provider.removeVolume(machineId, volumeId, signal))
  },
  watch: (_, { provider, machineId, signal, onChange }) => nothing(provider.watch(machineId, onChange, signal)),
  async open(args, at) {
    const opened = await at.provider.open(containerOf(args, at), args.process, at.signal)
    if (at.signal.aborted) opened.hangUp()
    at.signal.throwIfAborted()
    at.processes.addProcess(at.id, opened)
    return null
  },
  async connect(args, at) {
    const connection = await at.provider.connect(containerOf(args, at), args.port, at.signal)
    if (at.signal.aborted) connection.destroy()
    at.signal.throwIfAborted()
    at.processes.addConnection(at.id, connection)
    return null
  },
  resize: ({ stream, size }, { processes }) => nothing(processes.resize(stream, size)),
  signal: ({ stream, name }, { processes }) => nothing(processes.signal(stream, name)),
  branch: (target, { openBranch, signal }) => nothing(openBranch(target, signal)),
}

/** Those lines that fit in one message: the first ones after a cursor, else the last ones. */
function fittingLines<Line extends { text: string }>(lines: Line[], fromCursor: boolean): Line[] {
  let room = maxMessageBytes - 65_536
  const takes = (line: Line) => {
    room -= JSON.stringify(line.text).length * 2 + 256
    return room >= 0
  }
  if (fromCursor) {
    const end = lines.findIndex(line => !takes(line))
    return end === -1 ? lines : lines.slice(0, end)
  }
  return lines.slice(lines.findLastIndex(line => !takes(line)) + 1)
}
