// What docs/hosts.md says is done, as a reader pastes it. The engine is the one of the tests, and the image one of theirs.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { blocksOf, readPage } from '../support/docs.ts'
import { docker, runProgram } from '../support/engine/docker.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'

let gateway: GatewayProcess
let env: Record<string, string>
let remove: () => Promise<void>

describeWithEngine('docs/hosts.md', () => {
  beforeAll(async () => {
    const made = await makeDataDir()
    remove = made.remove
    const home = join(made.dataDir, 'home')
    mkdirSync(join(home, '.ssh'), { recursive: true })
    writeFileSync(join(home, '.ssh/id_ed25519.pub'), `${aPublicKey('reader')} me@home\n`)
    gateway = await startGateway({ BERTH_DATA_DIR: made.dataDir, RUN_AS: 'root' })
    const key = readFileSync(join(made.dataDir, 'demo-key'), 'utf8')
    env = { BERTH_DATA_DIR: made.dataDir, HOME: home, KEY: key, BERTH: gateway.url }
  })

  afterAll(async () => {
    await stopProgram(gateway)
    await remove()
  })

  it('rents a container on this computer', async () => {
    const snippets = blocksOf(readPage('docs/hosts.md'), 'sh host').map(snippet =>
      snippet
        .replace('unix:///var/run/docker.sock', engine.url)
        .replace('image: "ubuntu"', `image: "${engine.images.tiny}"`),
    )
    const waitAndLook = `${snippets.at(-1)}\nuntil ${snippets.at(-1)?.trim()} | grep -q RUNNING; do sleep 1; done\n${snippets.at(-1)}`
    const script = [...snippets.slice(0, -1), waitAndLook].join('\n')
    const { stdout, stderr, code } = await runProgram('timeout', ['110', 'bash', '-euc', script], '', env)
    expect(code, stderr).toBe(0)
    const printed = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(printed.slice(0, 3)).toMatchObject([
      { file: expect.stringMatching(/toolbox\.tar$/) },
      { host: 'demo@example.com', machines: 1 },
      { engine: engine.url, gpuAccess: 'none' },
    ])
    const { status, connection, logs } = printed.at(-1).data.instance
    expect(status).toBe('RUNNING')
    expect(connection.sshCommand).toMatch(/^ssh -p 20\d\d\d root@127\.0\.0\.1/)
    expect(logs).toContainEqual({ text: 'hello' })
    await docker(engine.folder, ['ps', '-q']).then(async ids => docker(engine.folder, ['rm', '-f', ...ids.split('\n')]))
  }, 120_000)
})
