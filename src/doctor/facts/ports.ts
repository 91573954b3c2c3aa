import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCodesOf, toError } from '../../database/failure-codes.ts'
import { listen } from '../../http/listen.ts'
import type { DoctorSettings } from '../settings.ts'
import type { Holder, PortFacts } from '../verdicts/ports.ts'

/** A gateway of this computer answers at once. */
const answerMs = 3_000

type Port = { setting: string; port: number; ask: (origin: Origin) => Promise<Holder> }
type Origin = { host: string; port: number }

export async function gatherPorts({ host, port, ssh, notebooks }: DoctorSettings): Promise<PortFacts[]> {
  const ports: Port[] = [{ setting: 'PORT', port, ask: askGateway }]
  if (ssh) ports.push({ setting: 'SSH_PORT', port: ssh.port, ask: askSsh })
  if (notebooks) ports.push({ setting: 'NOTEBOOK_PORT', port: notebooks.port, ask: askNotebooks })
  return await Promise.all(
    ports.map(async ({ setting, port: number, ask }) => {
      const holder = await findHolder(setting, { host, port: number }, ask)
      return { setting, host, port: number, holder }
    }),
  )
}

async function findHolder(setting: string, { host, port }: Origin, ask: Port['ask']): Promise<Holder> {
  const server = createServer(socket => socket.destroy())
  try {
    await listen(server, port, host, setting)
    server.close()
    await once(server, 'close')
    return { kind: 'free' }
  } catch (error) {
    const codes = errorCodesOf(error)
    const impossible: Holder = { kind: 'impossible', problem: toError(error).message }
    // A port that only root may take is refused before it is seen that a gateway has it.
    if (!codes.includes('EADDRINUSE') && !codes.includes('EACCES')) return impossible
    const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    const holder = await ask({ host: reachable, port }).catch((): Holder => ({ kind: 'stranger' }))
    return holder.kind === 'stranger' && codes.includes('EACCES') ? impossible : holder
  }
}

async function askGateway({ host, port }: Origin): Promise<Holder> {
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const health = await readStatus(`${origin}/health`)
  return health === 'ok' ? { kind: 'gateway', status: await readStatus(`${origin}/ready`) } : { kind: 'stranger' }
}

async function readStatus(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(answerMs), redirect: 'manual' })
  const body = (await answer.json()) as { status?: unknown }
  return String(body.status)
}

/** An SSH server says first what it is. */
async function askSsh(origin: Origin): Promise<Holder> {
  const isOurs = (await readFirst(origin, '')).startsWith('SSH-2.0-Berth')
  return isOurs ? { kind: 'gateway', status: 'ready' } : { kind: 'stranger' }
}

/** The notebook face serves no host name of an address, and says so. */
async function askNotebooks(origin: Origin): Promise<Holder> {
  const answer = await readFirst(origin, 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')
  const isOurs = /^HTTP\/1\.1 404 /.test(answer) && answer.includes('notebook')
  return isOurs ? { kind: 'gateway', status: 'ready' } : { kind: 'stranger' }
}

async function readFirst({ host, port }: Origin, greeting: string): Promise<string> {
  const socket = connect(port, host)
  const timeout = new AbortController()
  try {
    socket.on('error', () => {})
    socket.write(greeting)
    const first = once(socket, 'data', { signal: timeout.signal }).then(([data]) => String(data))
    return await Promise.race([first, sleep(answerMs, '', { signal: timeout.signal })])
  } finally {
    timeout.abort()
    socket.destroy()
  }
}
