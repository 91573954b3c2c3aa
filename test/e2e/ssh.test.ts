// SSH through the process: its settings, its greeting, and how it stops.

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, readPage } from '../support/docs.ts'
import { type GatewayProcess, makeDataDir, spawnProgram, startGateway } from '../support/processes/programs.ts'
import { hasSsh, type KeyPair, sshClient } from '../support/ssh/client.ts'

let dataDir: string
let remove: () => Promise<void>
let gateway: GatewayProcess
let client: ReturnType<typeof sshClient>
let port: number
let hostKey: string
let key: KeyPair
let user: string

async function rest(method: string, path: string, body?: object) {
  const authorization = `Bearer ${readFileSync(join(dataDir, 'demo-key'), 'utf8').trim()}`
  const init = { method, headers: { authorization }, ...(body && { body: JSON.stringify(body) }) }
  // biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
  return (await (await fetch(`${gateway.url}/api/v0${path}`, init)).json()) as any
}

const start = async () => {
  gateway = await startGateway({ BERTH_DATA_DIR: dataDir, SIMULATED_DELAY: '0', SSH_PORT: '0', DRAIN_SECONDS: '2' })
  const [, found = '', fingerprint = ''] =
    /SSH +ssh -p (\d+) ins_ID@127\.0\.0\.1\n +\(host key (SHA256:\S+)\)/.exec(gateway.output()) ?? []
  port = Number(found)
  return fingerprint
}

describe.skipIf(!hasSsh)('a gateway with SSH_PORT', () => {
  beforeAll(async () => {
    ;({ dataDir, remove } = await makeDataDir())
    client = sshClient(() => port)
    key = client.newKey()
    hostKey = await start()
    await rest('POST', '/ssh/', { ssh_key: key.publicKey })
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
    user = `ins_${id}`
    for (;;) {
      const { instances } = await rest('GET', `/instances/${id}/`)
      if (instances.actual_status === 'running') break
      await sleep(100)
    }
  })

  afterAll(async () => {
    gateway.child.kill('SIGKILL')
    await gateway.exit
    await remove()
    client.remove()
  })

  it('prints how to log in, and its answers say the same', async () => {
    expect(hostKey).not.toBe('')
    const { instances } = await rest('GET', `/instances/${user.replace('ins_', '')}/`)
    expect(instances).toMatchObject({ ssh_host: '127.0.0.1', ssh_port: port, ssh_user: user })
    expect(await client.ssh({ user, key, command: ['whoami'] })).toMatchObject({ code: 0, stdout: 'root\n' })
    expect(client.fingerprintSeen()).toBe(hostKey)
  })

  it('does what docs/ssh.md says', async () => {
    const bin = join(dataDir, 'bin')
    mkdirSync(bin)
    // The program reads the home of the user from the system, and not from HOME.
    const args = client.settings(key).map(arg => `'${arg}'`)
    writeFileSync(join(bin, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh ${args.join(' ')} "$@"\n`, { mode: 0o755 })
    mkdirSync(join(dataDir, 'home/.ssh'), { recursive: true })
    writeFileSync(join(dataDir, 'home/.ssh/id_ed25519.pub'), key.publicKey)
    const env = {
      ...{ PATH: `${bin}:${process.env['PATH']}`, HOME: join(dataDir, 'home'), BERTH: gateway.url },
      KEY: readFileSync(join(dataDir, 'demo-key'), 'utf8').trim(),
    }
    const snippets = blocksOf(readPage('docs/ssh.md'), 'sh login').join('\n')
    const script = snippets.replace('SSH_PORT=2222', `SSH_PORT=${port}`)
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env })
    const [, , connection, ...output] = stdout.trim().split('\n')
    expect(JSON.parse(connection as string).data.instance.connection.sshCommand).toMatch(
      new RegExp(`^ssh -p ${port} ins_\\d+@127\\.0\\.0\\.1$`),
    )
    expect(output.at(0)).toMatch(/^GPU 0: simulated/)
  })

  it('lets connections go on while it drains, refuses new ones, and keeps its host key when it restarts', async () => {
    const session = client.startSsh({ user, key, options: ['-N'], input: null })
    const isOpen = async () => /^berth_ssh_connections 1$/m.test(await (await fetch(`${gateway.url}/metrics`)).text())
    await expect.poll(isOpen).toBe(true)
    const begun = performance.now()
    gateway.child.kill('SIGTERM')
    await expect.poll(async () => (await client.ssh({ user, key, command: ['whoami'] })).code).toBe(255)
    expect(session.child.exitCode).toBeNull()
    expect((await session.ended).code).toBe(255)
    expect(performance.now() - begun).toBeGreaterThan(1_500)
    expect(await gateway.exit).toBe(0)
    expect(performance.now() - begun).toBeLessThan(7_000)
    expect(await start()).toBe(hostKey)
    expect(await client.ssh({ user, key, command: ['whoami'] })).toMatchObject({ code: 0 })
  })

  it('does not start on a port that is in use, and names the setting', async () => {
    const second = spawnProgram('src/main.ts', [], { BERTH_DATA_DIR: dataDir, PORT: '0', SSH_PORT: String(port) })
    expect(await second.exit).toBe(1)
    expect(second.errors()).toContain(`Port ${port} on 127.0.0.1 is in use.`)
    expect(second.errors()).toContain('set SSH_PORT to another port')
  })
})
