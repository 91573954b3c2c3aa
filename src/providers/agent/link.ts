// The gateway's side of an agent's connection: sends calls, and matches what comes back with them.

import { MachineUnreachable } from '../provider.ts'
import { errorOf } from './failures.ts'
import { type ArgsOf, calls, type Method, type ResultOf } from './protocol/calls.ts'
import { closeCodes } from './protocol/closing.ts'
import {
  answeredCall,
  type FailureKind,
  maxUnaskedLength,
  ProtocolError,
  parseToGateway,
  printMessage,
  type Welcome,
} from './protocol/messages.ts'
import { createMultiplexer, type Multiplexer, type Wire } from './streams/multiplexer.ts'

type LinkOptions = {
  wire: Wire
  machineId: number
  generation: number
  protocol: number
  /** Whether this gateway still holds the connection, as far as other gateways know. */
  isHeld(): boolean
}

type Pending = { method: Method; resolve(value: unknown): void; reject(error: Error): void }
/** What a call began that goes on after its answer. `onOver`: null if it is over as it should be. */
export type Aftermath = {
  onChange?(instanceIds: bigint[]): void
  onExit?(code: number): void
  onOver?(error: Error | null): void
}

/** More calls at once than a gateway ever has, and fewer than exhaust the memory. */
const maxPending = 2_000

/** An agent ends a process within ten seconds. */
const hangUpMs = 30_000

export type Link = ReturnType<typeof createLink>

export function createLink({ wire, machineId, generation, protocol, isHeld }: LinkOptions) {
  const pending = new Map<number, Pending>()
  const aftermaths = new Map<number, Aftermath>()
  const multiplexer: Multiplexer = createMultiplexer(wire, printMessage)
  const closed = new AbortController()
  let lastId = 0

  const send = (message: object) => wire.send(printMessage(message))
  const gone = () => new MachineUnreachable(`The connection of machine ${machineId} is gone.`)

  async function call<Name extends Method>(
    method: Name,
    args: ArgsOf<Name>,
    signal: AbortSignal,
    { id = nextId(), aftermath }: { id?: number; aftermath?: Aftermath } = {},
  ): Promise<ResultOf<Name>> {
    signal.throwIfAborted()
    if (closed.signal.aborted || pending.size >= maxPending) throw gone()
    if (!isHeld())
      throw new MachineUnreachable(`This gateway may no longer hold the connection of machine ${machineId}.`)
    if (calls[method].since > protocol)
      throw new Error(`The agent of machine ${machineId} is too old for this. Upgrade Berth on the host.`)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    pending.set(id, { method, resolve, reject })
    if (aftermath) aftermaths.set(id, aftermath)
    const abort = () => {
      send({ type: 'abort', id })
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      send({ type: 'call', id, generation, method, args })
      // Safe: `settle` has checked it with the schema of this call.
      return (await promise) as ResultOf<Name>
    } catch (error) {
      aftermaths.delete(id)
      throw error
    } finally {
      pending.delete(id)
      signal.removeEventListener('abort', abort)
    }
  }

  function nextId(): number {
    lastId = (lastId + 1) % 4_294_967_296
    return lastId
  }

  /** A host that answers nonsense has not answered. */
  function settle(id: number, value: unknown): void {
    const asked = pending.get(id)
    if (!asked) return
    const { success, data } = calls[asked.method].result.safeParse(value)
    if (success) asked.resolve(data)
    else asked.reject(new MachineUnreachable(`Machine ${machineId} gave an answer to ${asked.method} that is not one.`))
  }

  function fail(id: number, kind: FailureKind, message: string): void {
    pending.get(id)?.reject(errorOf(kind, message))
  }

  /** The gateway may have given up the call meanwhile. */
  function isAnswer(text: string): boolean {
    const id = answeredCall(text)
    return id !== undefined && pending.has(id)
  }

  function end(id: number, error: Error | null): void {
    const { onOver } = aftermaths.get(id) ?? {}
    aftermaths.delete(id)
    onOver?.(error)
  }

  function handle(text: string): void {
    const message = parseToGateway(text)
    const { id } = message
    switch (message.type) {
      case 'result':
        settle(id, message.value)
        break
      case 'failure':
        fail(id, message.kind, message.message)
        break
      case 'change':
        aftermaths.get(id)?.onChange?.(message.instanceIds)
        break
      case 'exit':
        aftermaths.get(id)?.onExit?.(message.code)
        break
      case 'close':
        end(id, message.kind && errorOf(message.kind, `A stream of machine ${machineId} broke off.`))
        break
      case 'grant':
        multiplexer.receiveGrant(message)
        break
      case 'end':
        multiplexer.receiveEnd(message)
        break
    }
  }

  function handleClosed(): void {
    if (closed.signal.aborted) return
    closed.abort()
    for (const { reject } of [...pending.values()]) reject(gone())
    for (const id of [...aftermaths.keys()]) end(id, gone())
  }

  return {
    machineId,
    generation,
    multiplexer,
    /** Aborted when the connection is closed. */
    closed: closed.signal,
    /** Whether a call waits for its answer, or what it began goes on. */
    isBusy: () => pending.size > 0 || aftermaths.size > 0,
    call,
    nextId,
    welcome: (welcome: Omit<Welcome, 'type' | 'machineId' | 'generation'>) =>
      send({ type: 'welcome', machineId, generation, ...welcome }),
    hangUp(id: number): void {
      send({ type: 'hangUp', id })
      const late = new MachineUnreachable(`Machine ${machineId} did not end a process that was hung up.`)
      setTimeout(() => end(id, late), hangUpMs).unref()
    },
    /** For streams that are over here, whether the agent says that they are or not. */
    closeStreams(id: number): void {
      aftermaths.delete(id)
      send({ type: 'close', id })
    },
    /** What the agent sent. One that breaks the protocol is disconnected. */
    receive(data: string | Buffer): void {
      try {
        if (typeof data !== 'string') multiplexer.receive(data)
        else if (data.length <= maxUnaskedLength || isAnswer(data)) handle(data)
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        wire.close(closeCodes.broken, error.message)
      }
    },
    close(code: number, reason: string): void {
      wire.close(code, reason)
      handleClosed()
    },
    handleClosed,
  }
}
