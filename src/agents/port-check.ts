// Tries public ports of a host that joins, at the address that the operator has given to its machine.

import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { invalidInput } from '../domain/errors.ts'
import type { Address } from '../domain/machines/addresses.ts'
import { findPortProblem, maxTriedPorts, type PortAnswer } from '../domain/machines/port-check.ts'
import type { Invited } from '../services/machines/agents/invited.ts'
import { createCheckLimit } from './check-limit.ts'

/** What a host says that it has opened, and what each of the ports answers. */
export type Listening = { ports: readonly number[]; answer: string }

const timeoutMs = 3_000

export function createPortChecks() {
  const begin = createCheckLimit(20, 'ports')
  return {
    /** What the operator and the host should know. Throws INVALID_INPUT if renters would not reach the ports. */
    async check(invited: Invited, listening: Listening | undefined): Promise<string[]> {
      const { machineId, allowsUnreachablePorts } = invited
      if (!listening) return ['Its public ports were not tried: the host opened none, as older versions of Berth do.']
      checkPorts(invited, listening)
      if (listening.ports.length === 0) return ['Its public ports were not tried: the host found none that is free.']
      const end = begin(machineId)
      try {
        const problem = findPortProblem(invited, await tryPorts(invited, listening))
        if (!problem) return []
        if (!allowsUnreachablePorts) throw invalidInput([problem])
        return [`${problem.path}: ${problem.message}`]
      } finally {
        end()
      }
    },
  }
}

function checkPorts({ firstPort, lastPort }: Address, { ports }: Listening): void {
  if (ports.length > maxTriedPorts || ports.some(port => port < firstPort || port > lastPort)) {
    const message = `must be at most ${maxTriedPorts} from ${firstPort} to ${lastPort}, which are the machine's.`
    throw invalidInput([{ path: 'ports', message }])
  }
}

async function tryPorts({ publicIp }: Address, { ports, answer }: Listening): Promise<Map<number, PortAnswer>> {
  const tried = ports.map(async port => [port, await tryPort(publicIp, port, answer)] as const)
  return new Map(await Promise.all(tried))
}

/** Sends nothing, and reads no more than the answer should have. */
async function tryPort(host: string, port: number, answer: string): Promise<PortAnswer> {
  const stopping = new AbortController()
  const socket = connect({ host, port })
  socket.on('error', () => {})
  const read = async (): Promise<PortAnswer> => {
    let text = ''
    for await (const bytes of socket) {
      text += (bytes as Buffer).toString('latin1', 0, answer.length + 1)
      if (text.length >= answer.length) break
    }
    if (text === '') return 'silent'
    return text === answer ? 'host' : 'other'
  }
  const late = sleep(timeoutMs, 'silent' as const, { signal: stopping.signal })
  late.catch(() => {})
  try {
    return await Promise.race([read().catch(() => 'silent' as const), late])
  } finally {
    stopping.abort()
    socket.destroy()
  }
}
