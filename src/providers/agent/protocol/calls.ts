// The calls that a gateway makes: those of the provider, with what they take and answer, as it travels.

import { z } from 'zod'
import * as values from './values.ts'

const { id, nothing } = values
/** Gateways before this field name no account. */
const container = { instanceId: id, accountId: values.accountId.exactOptional() }

function call<Args extends z.ZodType, Result extends z.ZodType>(args: Args, result: Result, { since = 1 } = {}) {
  return { args, result, since }
}

/** `since`: the first protocol that has the call. */
export const calls = {
  observe: call(z.object(container), values.observed),
  ensure: call(z.object({ spec: values.containerSpec }), nothing),
  setSshKeys: call(z.object({ ...container, sshKeys: values.sshKeys }), nothing),
  start: call(z.object(container), nothing),
  stop: call(z.object(container), nothing),
  remove: call(z.object(container), nothing),
  logs: call(z.object({ ...container, range: values.logRange }), values.logLines),
  exec: call(z.object({ ...container, command: values.command }), values.commandOutput),
  inventory: call(z.object({}), values.inventory),
  stats: call(z.object({}), values.stats),
  removeVolume: call(z.object({ volumeId: id }), nothing),
  /** Ends when it is aborted. The agent tells of changes meanwhile. */
  watch: call(z.object({}), nothing),
  /** Its number is that of the streams of the process. */
  open: call(z.object({ ...container, process: values.processSpec }), nothing),
  /** Its number is that of the connection's streams. */
  connect: call(z.object({ ...container, port: values.port }), nothing),
  resize: call(z.object({ stream: z.int(), size: values.windowSize }), nothing),
  signal: call(z.object({ stream: z.int(), name: values.processSignal }), nothing),
  /** Connects the host to another gateway as well. Answered when the branch is open. */
  branch: call(values.branchTarget, nothing, { since: 2 }),
}

/** Those that a branch may have. All others are made by the gateway that has the host's connection. */
export const branchMethods: readonly Method[] = ['open', 'connect', 'resize', 'signal']

export type Calls = typeof calls
export type Method = keyof Calls
export type ArgsOf<Name extends Method> = z.output<Calls[Name]['args']>
export type ResultOf<Name extends Method> = z.output<Calls[Name]['result']>

export const methods = Object.keys(calls) as [Method, ...Method[]]
