// Debian's PgBouncer, with the configuration under docs/proxies.

import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { freePorts, startDaemon, unprivilegedUser } from '../failover/programs.ts'
import { type DebianProgram, findDebianProgram } from '../processes/debian.ts'
import { waitForPort } from './proxy.ts'

export type Pgbouncer = Awaited<ReturnType<typeof startPgbouncer>>
type Options = { mode?: 'transaction' | 'session'; connections?: number }

const example = join(import.meta.dirname, '../../../docs/proxies/pgbouncer.ini')

export function findPgbouncer(): Promise<DebianProgram | undefined> {
  return findDebianProgram('pgbouncer', ['pgbouncer', 'libevent-2.1-7', 'libc-ares2'])
}

/** Starts it in front of the database of a URL, for the roles of tests. */
export async function startPgbouncer(program: DebianProgram, target: string, options: Options = {}) {
  const { mode = 'transaction', connections = 20 } = options
  const folder = await mkdtemp(join(tmpdir(), 'berth-pgbouncer-'))
  // It refuses to run as root.
  await chmod(folder, 0o777)
  const [port = 0] = await freePorts(1)
  const { hostname, port: targetPort, pathname } = new URL(target)
  const name = pathname.slice(1)
  const users = Object.values(inject('logins')).map(({ username, password }) => `"${username}" "${password}"\n`)
  await writeFile(join(folder, 'userlist.txt'), users.join(''))
  const replacements = [
    [
      'berth = host=db.example.com port=5432 dbname=berth',
      `${name} = host=${hostname} port=${targetPort} dbname=${name}`,
    ],
    ['listen_addr = 10.0.0.6', 'listen_addr = 127.0.0.1'],
    ['listen_port = 6432', `listen_port = ${port}`],
    ['/var/log/postgresql/pgbouncer.log', join(folder, 'pgbouncer.log')],
    ['/var/run/postgresql/pgbouncer.pid', join(folder, 'pgbouncer.pid')],
    ['/etc/pgbouncer/userlist.txt', join(folder, 'userlist.txt')],
    ['pool_mode = transaction', `pool_mode = ${mode}`],
    ['default_pool_size = 20', `default_pool_size = ${connections}`],
  ] as const
  const text = await readFile(example, 'utf8')
  for (const [old] of replacements)
    if (!text.includes(old)) throw new Error(`docs/proxies/pgbouncer.ini has no "${old}".`)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    replacements.reduce((ini, [old, own]) => ini.replace(old, own), text),
  )
  const [command = '', ...before] = program
  const daemon = startDaemon(command, [...before, file], folder, unprivilegedUser())
  await waitForPort(port, daemon.output)
  return {
    url: Object.assign(new URL(target), { host: `127.0.0.1:${port}` }).href,
    output: daemon.output,
    async stop(): Promise<void> {
      await daemon.stop('SIGINT')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
