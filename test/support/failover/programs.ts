// Programs of Debian that a test of fail-over starts and ends.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, isAbsolute, join } from 'node:path'

/** The user for PostgreSQL, which refuses to run as root; nothing for a test that is not root. */
export type RunAs = { uid?: number; gid?: number }

const packages = { etcd: 'etcd-server', patroni: 'patroni', haproxy: 'haproxy' }
/** The programs of Debian's PostgreSQL 15 or newer. */
export const postgresBin = globSync('/usr/lib/postgresql/{1[5-9],[2-9]?}/bin').toSorted().at(-1)
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']

/** Which packages of Debian are missing; undefined if none is. */
export function failoverObstacle(): string | undefined {
  const missing = Object.entries(packages).flatMap(([program, name]) => (findProgram(program) ? [] : [name]))
  if (!postgresBin) missing.push('postgresql')
  return missing.length > 0 ? `these packages of Debian are missing: ${missing.join(' ')}` : undefined
}

export function findProgram(name: string): string | undefined {
  return folders.map(folder => join(folder, name)).find(existsSync)
}

export function unprivilegedUser(): RunAs {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

export type Daemon = ReturnType<typeof startDaemon>

/** Starts a program, by its name or its path, in a process group of its own. */
export function startDaemon(name: string, args: string[], cwd: string, runAs: RunAs = {}) {
  const child = spawn(isAbsolute(name) ? name : (findProgram(name) as string), args, {
    ...{ cwd, ...runAs, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { PATH: folders.join(delimiter), HOME: cwd, LC_ALL: 'C.UTF-8', ETCD_UNSUPPORTED_ARCH: process.arch },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output = (output + text).slice(-200_000)
    })
  const exit = once(child, 'exit')
  return {
    pid: child.pid as number,
    output: () => output,
    /** Ends the program with the processes of its group. */
    async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
      if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), signal)
      await exit
    },
  }
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map(server => (server.address() as { port: number }).port)
  for (const server of servers) server.close()
  return ports
}
