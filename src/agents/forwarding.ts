// Passes calls on to the gateway that has a host's connection, and makes those that other gateways pass on to this one.

import type { Logger } from 'pino'
import { errorOf, kindOf } from '../providers/agent/failures.ts'
import type { Link } from '../providers/agent/link.ts'
import { calls } from '../providers/agent/protocol/calls.ts'
import { type FailureKind, failureKinds, printMessage } from '../providers/agent/protocol/messages.ts'
import { type Forward, type Forwarded, forwarded } from '../providers/agent/provider.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import { type AgentRequest, type AgentRequests, maxAnswerBytes } from '../services/machines/agents/requests.ts'
import { parentOf } from '../traces/remote.ts'
import { inTrace } from '../traces/spans.ts'

type ForwardingDeps = {
  requests: AgentRequests
  connections: { linkOf(machineId: number): Promise<Link | undefined>; machineIds(): number[] }
  log: Logger
}
type Answer = { value: unknown } | { kind: FailureKind; message: string }
type Waiting = { machineId: number; resolve(answer: string): void }

/** No call takes longer. */
const withinMs = { logs: 60_000, exec: 60_000, branch: 5_000 } satisfies Record<Forwarded, number>

export function createForwarding({ requests, connections, log }: ForwardingDeps) {
  const waiting = new Map<string, Waiting>()
  let isPolling = false
  let pollAgain = false

  const forward: Forward = async (machineId, method, args, signal) => {
    signal.throwIfAborted()
    const id = await requests.ask({ machineId, method, args: printMessage(args) }, withinMs[method])
    if (id === undefined) throw new MachineUnreachable(`The host of machine ${machineId} is not connected.`)
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    waiting.set(id, { machineId, resolve })
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const timer = setTimeout(
      () => reject(new MachineUnreachable(`The gateway that has the host of machine ${machineId} does not answer.`)),
      withinMs[method],
    )
    try {
      const answer = JSON.parse(await promise) as Answer
      if ('kind' in answer) throw errorOf(readKind(answer.kind), answer.message)
      // Safe: the schema is that of the method.
      return calls[method].result.parse(answer.value) as never
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      waiting.delete(id)
      requests
        .forget({ id, machineId })
        .catch((error: unknown) => log.debug({ err: error }, 'A call was not deleted. Housekeeping does it.'))
    }
  }

  /** In the trace of the gateway that asks. */
  async function serve(request: AgentRequest): Promise<void> {
    const { machineId, method, traceParent } = request
    if (traceParent === null) return await answer(request)
    const attributes = { 'berth.machine.id': machineId }
    await inTrace(`pass on ${method}`, { attributes, kind: 'SERVER', parent: parentOf(traceParent) }, () =>
      answer(request),
    )
  }

  async function answer(request: AgentRequest): Promise<void> {
    const text = printMessage(await answerOf(request))
    const isTooLong = Buffer.byteLength(text) > maxAnswerBytes
    await requests.answer(
      request,
      isTooLong ? printMessage({ kind: 'other', message: 'The answer is too long.' }) : text,
    )
  }

  async function answerOf({ machineId, method, args }: AgentRequest): Promise<Answer> {
    try {
      const name = forwarded.find(one => one === method)
      const link = await connections.linkOf(machineId)
      if (!name) return { kind: 'unsupported', message: `This gateway does not pass on ${method}.` }
      if (!link) return { kind: 'unreachable', message: `The host of machine ${machineId} is not connected.` }
      return { value: await callOn(link, name, args) }
    } catch (error) {
      return {
        kind: kindOf(error),
        message: error instanceof Error ? error.message.slice(0, 1_000) : 'The call failed.',
      }
    }
  }

  async function poll(): Promise<void> {
    const asked = [...waiting].map(([id, { machineId }]) => ({ id, machineId }))
    for (const [id, answer] of await requests.readAnswers(asked)) waiting.get(id)?.resolve(answer)
    for (const request of await requests.take(connections.machineIds()))
      serve(request).catch((error: unknown) => log.warn({ err: error }, 'A call of another gateway was not answered.'))
  }

  /** A request that comes during a poll may come too late for it. */
  async function pollUntilDone(): Promise<void> {
    pollAgain = true
    if (isPolling) return
    isPolling = true
    try {
      while (pollAgain) {
        pollAgain = false
        await poll()
      }
    } catch (error) {
      log.warn({ err: error }, 'Calls of agents were not looked for. The gateway tries again.')
    } finally {
      isPolling = false
    }
  }

  return {
    forward,
    /** Looks for answers, and for calls of other gateways. */
    wake(): void {
      if (waiting.size > 0 || connections.machineIds().length > 0) void pollUntilDone()
    },
  }
}

async function callOn(link: Link, method: Forwarded, args: string): Promise<unknown> {
  const parsed = calls[method].args.parse(JSON.parse(args))
  // Safe: the schema is that of the method.
  return await link.call(method, parsed as never, AbortSignal.timeout(withinMs[method]))
}

/** A gateway of another version may know other kinds. */
function readKind(kind: string): FailureKind {
  return failureKinds.find(one => one === kind) ?? 'other'
}
