// Notebooks through the process: its settings, its greeting, and how it stops.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, readPage } from '../support/docs.ts'
import { type GatewayProcess, makeDataDir, spawnProgram, startGateway } from '../support/processes/programs.ts'

let dataDir: string
let remove: () => Promise<void>
let gateway: GatewayProcess
let port: string
let connection: { notebookUrl: string; notebookToken: string }

const env = () => ({ BERTH_DATA_DIR: dataDir, SIMULATED_DELAY: '0', SSH_PORT: '0', NOTEBOOK_PORT: '0' })

/** The name resolves to this computer in browsers, but not in every other program. */
async function open(path: string, accept = 'text/plain'): Promise<{ status: string; body: string }> {
  const { host } = new URL(connection.notebookUrl)
  const args = ['-s', '-H', `Host: ${host}`, '-H', `Accept: ${accept}`, '-w', '\n%{http_code}']
  const { stdout } = await promisify(execFile)('curl', [...args, `http://127.0.0.1:${port}${path}`])
  const lines = stdout.split('\n')
  return { status: lines.pop() ?? '', body: lines.join('\n') }
}

describe('a gateway with NOTEBOOK_PORT', () => {
  beforeAll(async () => {
    ;({ dataDir, remove } = await makeDataDir())
    gateway = await startGateway(env())
    port = /^ {2}Notebooks http:\/\/ins-ID\.localhost:(\d+)\/$/m.exec(gateway.output())?.[1] ?? ''
    const key = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim()
    const snippets = blocksOf(readPage('docs/notebooks.md'), 'sh login').join('\n')
    const shell = { PATH: process.env['PATH'], HOME: dataDir, BERTH: gateway.url, KEY: key }
    const { stdout } = await promisify(execFile)('bash', ['-euc', snippets], { env: shell })
    connection = JSON.parse(stdout.trim().split('\n').at(-1) as string).data.instance.connection
  })

  afterAll(async () => {
    gateway.child.kill('SIGKILL')
    await gateway.exit
    await remove()
  })

  it('says where notebooks are, as docs/notebooks.md says', () => {
    expect(connection).toEqual({
      notebookUrl: expect.stringMatching(new RegExp(`^http://ins-\\d+\\.localhost:${port}/$`)),
      notebookToken: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  it('lets nobody without the token ask the machine', async () => {
    expect(await open('/')).toMatchObject({ status: '401' })
    expect(await open('/', 'text/html')).toMatchObject({ status: '401', body: expect.stringContaining('<form>') })
    const found = await open(`/?token=${connection.notebookToken}`)
    expect(found).toMatchObject({
      status: '502',
      body: expect.stringMatching(/^No notebook listens in ins_\d+: its machine is simulated/),
    })
  })

  it('shows no GraphiQL, API or metrics on that port, and counts requests in the metrics of the other', async () => {
    for (const path of ['/graphql', '/api/v0/users/current/', '/metrics', '/health'])
      expect((await open(path)).status).toBe('401')
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
    expect(metrics).toMatch(/^berth_notebook_requests_total\{outcome="refused"\} [1-9]\d*$/m)
    expect(metrics).toMatch(/^berth_notebook_connections 0$/m)
  })

  it('does not start on a port that is in use, and names the setting', async () => {
    const second = spawnProgram('src/main.ts', [], { ...env(), PORT: '0', NOTEBOOK_PORT: port })
    expect(await second.exit).toBe(1)
    expect(second.errors()).toContain(`Port ${port} on 127.0.0.1 is in use.`)
    expect(second.errors()).toContain('set NOTEBOOK_PORT to another port')
  })

  it('stops, and knows its tokens when it starts again', async () => {
    gateway.child.kill('SIGTERM')
    expect(await gateway.exit).toBe(0)
    gateway = await startGateway({ ...env(), NOTEBOOK_PORT: port })
    expect(await open(`/?token=${connection.notebookToken}`)).toMatchObject({ status: '502' })
  })
})
