// Makes this computer a host, once, with a token of the operator.

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { isInviteToken, printHostKey } from '../domain/machines/agents.ts'
import type { EngineFacts } from '../domain/machines/inspection.ts'
import type { Speeds } from '../domain/machines/speed.ts'
import { explainUnreachable } from '../providers/docker/inspection/unreachable.ts'
import { messageIn, Refused } from './connection.ts'
import type { Gpu } from './gpus.ts'
import { forgetHost, type HostFile, type KeptHost, keepHost, readHost } from './key-file.ts'
import type { OpenPorts } from './ports.ts'

export type JoinOptions = {
  gateway: string
  token: string
  engine: string
  folder: string
  inspect(engine: string): Promise<EngineFacts>
  readGpus(): Promise<Gpu[]>
  openPorts(range: Range): Promise<OpenPorts>
  measureSpeeds(gateway: string, token: string): Promise<Speeds | undefined>
}

/** `warnings`: what the gateway says of a host that has joined. */
export type JoinedHost = KeptHost & { machineId: number; facts: EngineFacts; warnings: string[] }

type Range = z.infer<typeof range>

const port = z.int().min(1).max(65_535)
const range = z.object({ firstPort: port, lastPort: port })
const joined = z.object({
  machineId: z.int(),
  /** Gateways before this field do not say it. */
  warnings: z.array(z.string()).default([]),
})

const timeoutMs = 30_000
/** Joins without an answer whose keys are kept. */
const maxAsked = 4

/**
 * The host makes its key itself and keeps it before it asks, beside the one that it has: if the answer is lost, either may be
 * good, and `host run` finds out.
 */
export async function joinHost(options: JoinOptions): Promise<JoinedHost> {
  const { gateway, token, engine, folder, inspect, readGpus, measureSpeeds } = options
  checkGateway(gateway)
  if (!isInviteToken(token)) throw new Error('--token is not a token of "machine invite".')
  const [inspected, gpus] = await Promise.all([inspectOwn(engine, inspect), readGpus()])
  const facts = { ...inspected, gpuMemoryMb: gpus.flatMap(({ memoryMb }) => memoryMb ?? []) }
  const gpuUuids = gpus.map(({ uuid }) => uuid)
  const key = printHostKey(randomBytes(32).toString('base64url'))
  const host = { gateway, engine, key }
  const before = await readHost(folder).catch(() => undefined)
  await keepHost(folder, before ? { ...before, asked: [...(before.asked ?? []), host].slice(-maxAsked) } : host)
  const speeds = await measureSpeeds(gateway, token)
  const opened = await openPortsOf(options)
  const measured = { ...(speeds && { speeds }), ...(opened && { listening: opened.listening }) }
  const body = { key, facts, gpuUuids, ...measured }
  const answer = await askToJoin(gateway, token, body)
    .catch(async (error: unknown) => {
      if (error instanceof Refused) await restore(folder, before)
      throw error
    })
    .finally(() => opened?.close())
  await keepHost(folder, host)
  return { ...host, ...answer, facts }
}

async function restore(folder: string, before: HostFile | undefined): Promise<void> {
  if (before) await keepHost(folder, before)
  else await forgetHost(folder)
}

/** Undefined if the gateway does not say which ports the machine has. Then it is older, or refuses to let the host join. */
async function openPortsOf({ gateway, token, openPorts }: JoinOptions): Promise<OpenPorts | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(timeoutMs)
  const text = await fetch(new URL('/host/invitation', gateway), { headers, signal })
    .then(response => response.text())
    .catch(() => '')
  const found = parseJson(text, range)
  return found && (await openPorts(found))
}

/** Throws `Refused` only if a gateway has said that the key is not valid. */
async function askToJoin(gateway: string, token: string, body: object): Promise<z.infer<typeof joined>> {
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
  const answer = response.ok ? parseJson(text, joined) : undefined
  if (answer) return answer
  const says = messageIn(text)
  if (says !== undefined && response.status < 500) throw new Refused(says)
  throw new Error(`${says ?? `${gateway} answered ${response.status}, and not as a gateway does.`} ${advice}`)
}

function parseJson<Value>(text: string, form: z.ZodType<Value>): Value | undefined {
  try {
    return form.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

async function inspectOwn(engine: string, inspect: JoinOptions['inspect']): Promise<EngineFacts> {
  return await inspect(engine).catch(error => {
    throw explainUnreachable(engine, error, 'Start Docker, and join as a user that may open its socket.')
  })
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
