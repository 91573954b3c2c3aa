// The agent's side of one connection: does what the gateway calls for, and answers.

import type { Logger } from 'pino'
import { kindOf } from '../providers/agent/failures.ts'
import { branchMethods, calls, type Method } from '../providers/agent/protocol/calls.ts'
import { closeCodes } from '../providers/agent/protocol/closing.ts'
import {
  type FailureKind,
  maxMessageBytes,
  ProtocolError,
  parseToAgent,
  printMessage,
  type ToAgent,
  type Welcome,
} from '../providers/agent/protocol/messages.ts'
import type { BranchTarget } from '../providers/agent/protocol/values.ts'
import { createMultiplexer, type Wire } from '../providers/agent/streams/multiplexer.ts'
import type { Provider } from '../providers/provider.ts'
import { type CallContext, handlers } from './calls.ts'
import type { Fence } from './fence.ts'
import { createProcesses, maxStreams, type StreamCount } from './processes.ts'

export type SessionOptions = {
  wire: Wire
  /** The generations and the streams of connections, which outlive this connection. */
  fence: Fence
  streams: StreamCount
  log: Logger
  role: FirstRole | BranchRole
}
/** Of the connection over which a gateway has the host. */
type FirstRole = {
  welcome(welcome: Welcome): Provider
  openBranch(target: BranchTarget, beside: Served, signal: AbortSignal): Promise<void>
}
/** Of a connection to another gateway, which carries streams. It needs no welcome. */
type BranchRole = { beside: Served }
export type Served = { machineId: number; generation: number; provider: Provider }

type Call = Extract<ToAgent, { type: 'call' }>

/** A gateway makes far fewer at once. */
const maxCalls = 1_000
const changesPerMessage = 1_000

export type Session = ReturnType<typeof createSession>

export function createSession({ wire, fence, streams, log, role }: SessionOptions) {
  const multiplexer = createMultiplexer(wire, printMessage)
  const running = new Map<number, AbortController>()
  const isBranch = 'beside' in role
  let served = isBranch ? role.beside : undefined

  const send = (message: object) => wire.send(printMessage(message))
  const tell = {
    exit: (id: number, code: number) => send({ type: 'exit', id, code: Math.min(Math.max(code, 0), 255) }),
    close: (id: number, kind: FailureKind | null) => send({ type: 'close', id, kind }),
  }
  const processes = createProcesses(multiplexer, tell, streams)

  function start(welcome: Welcome): void {
    if (isBranch) throw new ProtocolError('A branch has no welcome.')
    if (!fence.raise(welcome.generation))
      throw new ProtocolError('The gateway knows only an older connection of this host.')
    const { machineId, generation } = welcome
    served = { machineId, generation, provider: role.welcome(welcome) }
  }

  /** Why the call is not made, as far as its form says. */
  function refusalOf(call: Call): { kind: FailureKind; message: string } | undefined {
    if (isBranch && !branchMethods.includes(call.method))
      return { kind: 'unsupported', message: `A branch does not carry ${call.method}.` }
    if (!fence.isCurrent(call.generation)) return { kind: 'outdated', message: 'This host has a later connection.' }
    const isStream = call.method === 'open' || call.method === 'connect'
    const isBusy = running.size >= maxCalls || (isStream && streams.open >= maxStreams)
    return isBusy ? { kind: 'other', message: 'This host is busy. Try again.' } : undefined
  }

  async function run(call: Call): Promise<void> {
    const { id, method } = call
    if (!served || running.has(id)) throw new ProtocolError('A call came before the welcome, or twice.')
    const refusal = refusalOf(call)
    if (refusal) return send({ type: 'failure', id, ...refusal })
    const aborted = new AbortController()
    running.set(id, aborted)
    try {
      const context = { ...served, processes, signal: aborted.signal, id, onChange: tellOf(id), openBranch }
      const answer = printMessage({ type: 'result', id, value: await perform(call, context) })
      if (Buffer.byteLength(answer) > maxMessageBytes) throw new Error('The answer is too long.')
      wire.send(answer)
    } catch (error) {
      const kind = kindOf(error)
      if (kind === 'other' && !aborted.signal.aborted) log.warn({ err: error, method }, 'A call failed.')
      send({ type: 'failure', id, kind, message: messageOf(kind, error, method) })
    } finally {
      running.delete(id)
    }
  }

  async function openBranch(target: BranchTarget, signal: AbortSignal): Promise<void> {
    if (served && !isBranch) await role.openBranch(target, served, signal)
  }

  function tellOf(id: number) {
    let gathered: bigint[] = []
    return (instanceId: bigint) => {
      if (gathered.length === 0)
        setImmediate(() => {
          const told = gathered
          gathered = []
          for (let from = 0; from < told.length; from += changesPerMessage)
            send({ type: 'change', id, instanceIds: told.slice(from, from + changesPerMessage) })
        })
      gathered.push(instanceId)
    }
  }

  function handle(text: string): void {
    const message = parseToAgent(text)
    switch (message.type) {
      case 'welcome':
        start(message)
        break
      case 'call':
        void run(message).catch(refuse)
        break
      case 'abort':
        // The answer may be on its way. What it began ends then.
        processes.close(message.id)
        running.get(message.id)?.abort(new DOMException('The gateway gave up.', 'AbortError'))
        break
      case 'hangUp':
        processes.hangUp(message.id)
        break
      case 'close':
        processes.close(message.id)
        break
      case 'grant':
        multiplexer.receiveGrant(message)
        break
      case 'end':
        multiplexer.receiveEnd(message)
        break
    }
  }

  function refuse(error: unknown): void {
    log.warn({ err: error }, 'The gateway breaks the protocol. The agent connects anew.')
    wire.close(closeCodes.broken, error instanceof ProtocolError ? error.message : 'The agent failed.')
  }

  return {
    receive(data: string | Buffer): void {
      try {
        if (typeof data === 'string') handle(data)
        else multiplexer.receive(data)
      } catch (error) {
        refuse(error)
      }
    },
    /** Ends what the gateway waits for. What a container does goes on. */
    end(): void {
      for (const aborted of running.values()) aborted.abort(new DOMException('The connection is gone.', 'AbortError'))
      processes.closeAll()
    },
  }
}

async function perform({ method, args }: Call, context: CallContext): Promise<unknown> {
  const { success, data } = calls[method].args.safeParse(args)
  if (!success) throw new Error(`The arguments of ${method} have not the form that the protocol says.`)
  // Safe: the arguments have been read with the schema of the method.
  return await (handlers[method] as (args: unknown, context: CallContext) => Promise<unknown>)(data, context)
}

/** The text of any other error may name what nobody but the host's owner should read. */
function messageOf(kind: FailureKind, error: unknown, method: Method): string {
  if (kind === 'other' || !(error instanceof Error)) return `The host could not do this (${method}). Its log says why.`
  return error.message.slice(0, 1_000)
}
