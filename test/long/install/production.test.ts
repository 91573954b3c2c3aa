// A fresh copy that is installed without the packages for development does all that the program does.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const folders = ['src', 'prisma', 'docs']
const files = ['package.json', 'package-lock.json']
/** Importing these starts a program, or needs to be a worker of one. */
const programs = ['src/main.ts', 'src/cli.ts', 'src/graphql/graphiql/bundle.ts']

let copy: string
let data: string
let env: Record<string, string | undefined>

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'berth-production-'))
  data = await mkdtemp(join(tmpdir(), 'berth-production-data-'))
  for (const folder of [copy, data]) await chmod(folder, 0o755)
  const filter = (path: string) => !path.includes('/generated')
  for (const name of [...folders, ...files]) await cp(join(root, name), join(copy, name), { recursive: true, filter })
  const { DATABASE_URL: _, NODE_OPTIONS: __, ...inherited } = process.env
  env = { ...inherited, BERTH_DATA_DIR: data, PORT: '0', SIMULATED_DELAY: '0' }
  await npm('ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund')
})

afterAll(async () => {
  for (const folder of [copy, data]) await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

const npm = (...args: string[]) => run('npm', args, { cwd: copy, env, maxBuffer: 1e8 })
const berth = (...args: string[]) => npm('run', '--silent', 'berth', '--', ...args)

describe('an installation with --omit=dev', () => {
  it('has the packages of the program alone, and the client of the database', async () => {
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(copy, 'package.json'), 'utf8'))
    const installed = await readdir(join(copy, 'node_modules'))
    const missing = (names: object) => Object.keys(names).filter(name => !installed.includes(name.split('/')[0] ?? ''))
    expect(missing(dependencies)).toEqual([])
    expect(installed).not.toContain('vitest')
    expect(installed).not.toContain('@biomejs')
    expect(Object.keys(devDependencies)).toContain('vitest')
    expect(await readdir(join(copy, 'src/database/generated'))).toContain('client.ts')
  })

  it('has every package that a file of the program imports', async () => {
    const all = await readdir(join(copy, 'src'), { recursive: true })
    const modules = all.map(name => `src/${name}`).filter(name => name.endsWith('.ts') && !programs.includes(name))
    const script = `for (const path of ${JSON.stringify(modules)}) await import(${JSON.stringify(`${copy}/`)} + path)`
    await run(join(copy, 'node_modules/.bin/node'), ['--input-type=module', '--eval', script], { cwd: copy, env })
    expect(modules.length).toBeGreaterThan(500)
  })

  it('starts, migrates, serves and stops, and runs commands meanwhile', async () => {
    const gateway = spawn('npm', ['start', '--silent'], { cwd: copy, env, detached: true })
    let [output, errors] = ['', '']
    gateway.stdout.setEncoding('utf8').on('data', text => {
      output += text
    })
    gateway.stderr.setEncoding('utf8').on('data', text => {
      errors += text
    })
    const exit = once(gateway, 'close')
    const findUrl = () => /REST +(http:\S+)\/api\/v0\//.exec(output)?.[1]
    await expect.poll(() => findUrl() ?? errors, { timeout: 120_000 }).toMatch(/^http/)
    const url = findUrl()
    const key = await readFile(join(data, 'demo-key'), 'utf8')
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const query = JSON.stringify({ query: '{ offers(first: 1) { totalCount } }' })
    const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body: query })
    expect((await answer.json()).data.offers.totalCount).toBeGreaterThan(500)
    const page = await (await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } })).text()
    const [, script = ''] = /<script src="([^"]+)"/.exec(page) ?? []
    expect((await fetch(`${url}${script}`)).status).toBe(200)
    const { stdout } = await berth('account', 'create', '--email', 'ada@example.com')
    expect(JSON.parse(stdout)).toMatchObject({ email: 'ada@example.com' })
    await expect(berth('host', 'run')).rejects.toMatchObject({ stderr: expect.stringContaining('has not joined') })
    process.kill(-(gateway.pid as number), 'SIGTERM')
    expect(await exit, errors).toEqual([0, null])
  })
})
