// Debian's nginx and Caddy, with the configurations under docs/proxies.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startDaemon } from '../failover/programs.ts'
import { type DebianProgram, findDebianProgram } from '../processes/debian.ts'
import { caddyConfiguration, nginxConfiguration, type ProxyKind, type ProxyPlaces } from './configuration.ts'

export type Proxy = Awaited<ReturnType<typeof startProxy>>

export async function findProxies(): Promise<Record<ProxyKind, DebianProgram | undefined>> {
  return { nginx: await findDebianProgram('nginx', ['nginx']), caddy: await findDebianProgram('caddy', ['caddy']) }
}

/** Starts the proxy, with a certificate that nobody else has signed. */
export async function startProxy(kind: ProxyKind, program: DebianProgram, ports: ProxyPlaces['ports']) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-proxy-'))
  // Workers of nginx are another user.
  await chmod(folder, 0o755)
  const [certificate, key] = [join(folder, 'proxy.crt'), join(folder, 'proxy.key')]
  await makeCertificate(certificate, key)
  const places = { folder, certificate, key, ports }
  const file = join(folder, kind === 'nginx' ? 'nginx.conf' : 'Caddyfile')
  await writeFile(file, kind === 'nginx' ? nginxConfiguration(places) : caddyConfiguration(places))
  const args =
    kind === 'nginx'
      ? ['-p', folder, '-c', file, '-g', 'daemon off;']
      : ['run', '--config', file, '--adapter', 'caddyfile']
  const [command = '', ...before] = program
  const daemon = startDaemon(command, [...before, ...args], folder)
  await waitForPort(ports.https, daemon.output)
  return {
    certificate: await readFile(certificate, 'utf8'),
    output: daemon.output,
    async stop(): Promise<void> {
      await daemon.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

async function makeCertificate(certificate: string, key: string): Promise<void> {
  const names = 'subjectAltName=DNS:localhost,DNS:*.notebooks.localhost'
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const content = ['-subj', '/CN=localhost', '-addext', names]
  await promisify(execFile)('openssl', ['req', ...kind, ...content, '-out', certificate, '-keyout', key])
}

export async function waitForPort(port: number, output: () => string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const isOpen = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isOpen) return
    await sleep(100)
  }
  throw new Error(`The proxy does not listen: ${output()}`)
}
