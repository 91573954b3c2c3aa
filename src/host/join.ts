// Makes this computer a host, once, with a token of the operator.

import { randomBytes } from 'node:crypto'
import { isInviteToken, printHostKey } from '../domain/machines/agents.ts'
import type { EngineFacts } from '../domain/machines/inspection.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import { messageIn, Refused } from './connection.ts'
import type { Gpu } from './gpus.ts'
import { forgetHost, type HostFile, type KeptHost, keepHost, readHost } from './key-file.ts'

export type JoinOptions = {
  gateway: string
  token: string
  engine: string
  folder: string
  inspect(engine: string): Promise<EngineFacts>
  readGpus(): Promise<Gpu[]>
}

const timeoutMs = 30_000
/** Joins without an answer whose keys are kept. */
const maxAsked = 4

/**
 * The host makes its key itself and keeps it before it asks, beside the one that it has: if the answer is lost, either may be
 * good, and `host run` finds out.
 */
export async function joinHost(options: JoinOptions): Promise<KeptHost & { machineId: number; facts: EngineFacts }> {
  const { gateway, token, engine, folder, inspect, readGpus } = options
  checkGateway(gateway)
  if (!isInviteToken(token)) throw new Error('--token is not a token of "machine invite".')
  const [inspected, gpus] = await Promise.all([inspectOwn(engine, inspect), readGpus()])
  const facts = { ...inspected, gpuMemoryMb: gpus.flatMap(({ memoryMb }) => memoryMb ?? []) }
  const gpuUuids = gpus.map(({ uuid }) => uuid)
  const key = printHostKey(randomBytes(32).toString('base64url'))
  const host = { gateway, engine, key }
  const before = await readHost(folder).catch(() => undefined)
  await keepHost(folder, before ? { ...before, asked: [...(before.asked ?? []), host].slice(-maxAsked) } : host)
  const machineId = await askToJoin(gateway, token, { key, facts, gpuUuids }).catch(async (error: unknown) => {
    if (error instanceof Refused) await restore(folder, before)
    throw error
  })
  await keepHost(folder, host)
  return { ...host, machineId, facts }
}

async function restore(folder: string, before: HostFile | undefined): Promise<void> {
  if (before) await keepHost(folder, before)
  else await forgetHost(folder)
}

/** Throws `Refused` only if a gateway has said that the key is not valid. */
async function askToJoin(gateway: string, token: string, body: object): Promise<number> {
  const advice = 'If the host has joined all the same, "host run" connects it. If not, join again.'
  const response = await fetch(new URL('/host/join', gateway), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: unknown) => {
    throw new Error(`${gateway} does not answer. ${advice}`, { cause })
  })
  const text = await response.text().catch(() => '')
  const machineId = response.ok ? machineIdIn(text) : undefined
  if (machineId !== undefined) return machineId
  const says = messageIn(text)
  if (says !== undefined && response.status < 500) throw new Refused(says)
  throw new Error(`${says ?? `${gateway} answered ${response.status}, and not as a gateway does.`} ${advice}`)
}

function machineIdIn(text: string): number | undefined {
  try {
    const { machineId } = JSON.parse(text)
    return Number.isInteger(machineId) ? machineId : undefined
  } catch {
    return undefined
  }
}

/** A renter reads only that a machine does not answer. The owner of a host can do something about it. */
async function inspectOwn(engine: string, inspect: JoinOptions['inspect']): Promise<EngineFacts> {
  try {
    return await inspect(engine)
  } catch (error) {
    if (!(error instanceof MachineUnreachable)) throw error
    const { code = error.message } = (error.cause ?? {}) as NodeJS.ErrnoException
    const advice = 'Start Docker, and join as a user that may open its socket.'
    throw new Error(`${engine} does not answer (${code}). ${advice}`, { cause: error })
  }
}

/** Whoever reads the key can take the place of the host. */
function checkGateway(text: string): void {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`--gateway must be a URL such as https://berth.example.com, not "${text}".`)
  if (url.username !== '' || url.password !== '') throw new Error('--gateway must have no user and no password.')
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol === 'http:' && !isLocal)
    throw new Error('--gateway must be https://, unless it is on this computer.')
}
