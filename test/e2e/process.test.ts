import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '../support/database/database.ts'
import {
  type GatewayProcess,
  makeDataDir,
  runBerth,
  spawnProgram,
  startGateway,
  stopProgram,
} from '../support/processes/programs.ts'

let dataDir: string
let remove: () => Promise<void>
// Gateways that share an external database need a common secret.
const BERTH_SECRET = 'a secret of these tests'
let env: Record<string, string>

beforeAll(async () => {
  const made = await makeDataDir()
  dataDir = made.dataDir
  remove = made.remove
  env = { BERTH_DATA_DIR: dataDir }
})

afterAll(() => remove())

const ask = async ({ url }: GatewayProcess, path: string, key: string, body?: object) => {
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { ...init, headers })
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the request
  return { status: response.status, body: (await response.json()) as any }
}

/** Whether the database server of the data folder runs. */
const isDatabaseRunning = () => {
  const file = join(dataDir, 'postgres/postmaster.pid')
  return existsSync(file) && existsSync(`/proc/${readFileSync(file, 'utf8').split('\n')[0]}`)
}

describe('a gateway on a new data folder', () => {
  let gateway: GatewayProcess
  let key: string

  beforeAll(async () => {
    gateway = await startGateway(env)
    key = readFileSync(join(dataDir, 'demo-key'), 'utf8')
  })

  it('prints its URLs and where the demo key is, which works on a large demo market', async () => {
    expect(gateway.output()).toContain(`GraphQL   ${gateway.url}/graphql\n`)
    const file = join(dataDir, 'demo-key')
    expect(gateway.output()).toContain(`GraphiQL  echo "${gateway.url}/graphql#key=$(cat '${file}')"\n`)
    expect(gateway.output()).toContain(`Demo key  in ${file}\n`)
    const { body } = await ask(gateway, '/graphql', key, {
      query:
        '{ viewer { account { email credit } } gpuModels { name } offers(filter: { availability: AVAILABLE }) { totalCount } }',
    })
    expect(body.data.viewer.account).toEqual({ email: 'demo@example.com', credit: '100' })
    expect(body.data.gpuModels.length).toBeGreaterThanOrEqual(40)
    expect(body.data.offers.totalCount).toBeGreaterThan(500)
    const { body: rest } = await ask(gateway, '/api/v0/bundles/', key, { limit: 5000, disable_bundling: true })
    expect(new Set(rest.offers.map((offer: { machine_id: number }) => offer.machine_id)).size).toBeGreaterThanOrEqual(
      300,
    )
    expect(
      new Set(rest.offers.map((offer: { geolocation: string }) => offer.geolocation.slice(-2))).size,
    ).toBeGreaterThanOrEqual(15)
  })

  it('logs how many migrations it applied, in one short line', () => {
    const [line = ''] = gateway
      .errors()
      .split('\n')
      .filter(one => one.includes('The database was migrated.'))
    expect(JSON.parse(line)).toMatchObject({ applied: expect.any(Number), newest: expect.stringMatching(/^\d{14}_/) })
  })

  it('says and serves its demo key to nobody: it is only in its file', async () => {
    const page = await (await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('<title>Berth</title>')
    for (const text of [page, gateway.output(), gateway.errors()]) expect(text).not.toContain(key)
    expect(statSync(join(dataDir, 'demo-key')).mode & 0o777).toBe(0o600)
  })

  it('answers other requests quickly while sixty visitors load GraphiQL', async () => {
    // Does not decompress: that would block this process.
    const get = async (path: string, headers: Record<string, string>) => {
      const asked = request(`${gateway.url}${path}`, {
        agent: false,
        headers: { ...headers, 'accept-encoding': 'gzip' },
      })
      const [response] = (await once(asked.end(), 'response')) as [IncomingMessage]
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return Buffer.concat(chunks)
    }
    const getPage = async () => String(await get('/graphql', { accept: 'text/html' }))
    const [, script = ''] = /<script src="([^"]+)"/.exec(await getPage()) ?? []
    let visitorCount = 60
    const done = Array.from({ length: visitorCount }, async () => {
      const [page, bundle] = await Promise.all([getPage(), get(script, {})])
      visitorCount -= 1
      return [page.length < 25_000, bundle.length < 3_000_000]
    })
    const waits: number[] = []
    const begin = performance.now()
    while (visitorCount > 0) {
      const start = performance.now()
      await get('/health', {})
      waits.push(performance.now() - start)
    }
    expect(new Set((await Promise.all(done)).flat())).toEqual(new Set([true]))
    // A machine that is busy with other things may take long for everything.
    expect(Math.max(...waits)).toBeLessThan(Math.max(1_000, (performance.now() - begin) / 2))
  })

  it('refuses a second gateway on its folder, with its own process id in the message', async () => {
    const second = spawnProgram('src/main.ts', [], { ...env, PORT: '0' })
    expect(await second.exit).toBe(1)
    expect(second.errors()).toBe(
      `Berth cannot start.\nThe data folder ${dataDir} is in use by berth gateway, process ${gateway.child.pid}. Stop it first, or set BERTH_DATA_DIR to another folder.\n`,
    )
    expect((await ask(gateway, '/ready', key)).status).toBe(200)
  })

  it('runs alongside operator commands', async () => {
    const created = await runBerth(env, 'account', 'create', '--email', 'Ada@example.com', '--credit', '1000')
    expect(created).toEqual({
      code: 0,
      errors: '',
      result: {
        id: expect.any(Number),
        email: 'ada@example.com',
        credit: '1000',
        apiKey: expect.stringMatching(/^berth_\w{12}_\w{40}$/),
      },
    })
    expect((await ask(gateway, '/api/v0/users/current/', created.result.apiKey)).body).toMatchObject({ credit: 1000 })

    const scoped = await runBerth(
      env,
      'key',
      'create',
      '--account',
      'ADA@example.com',
      '--permissions',
      '{"api":{"misc":{}}}',
    )
    expect(scoped.result.account).toBe('ada@example.com')
    expect((await ask(gateway, '/api/v0/bundles/', scoped.result.apiKey, {})).status).toBe(200)
    expect((await ask(gateway, '/api/v0/users/current/', scoped.result.apiKey)).status).toBe(403)
  })

  it.each([
    [[], '"help NOUN VERB" explains one of them.\nNo command is given.'],
    [['account', 'create'], 'Missing --email.\nUsage:\n  account create --email … [--credit …] [--name …]'],
    [['account', 'create', '--email', 'x'], '"x" is not an email address.'],
    [
      ['account', 'create', '--email', 'demo@example.com'],
      'An account with the email address demo@example.com already exists.',
    ],
    [['account', 'create', '--email', 'b@c.d', '--credit', '-5'], '--credit must be an amount in US dollars'],
    [['account', 'create', '--email', 'b@c.d', '--color', 'red'], "Unknown option '--color'"],
    [
      ['key', 'create', '--account', 'nobody@example.com'],
      'There is no account with the email address nobody@example.com.',
    ],
    [['key', 'create', '--account', 'demo@example.com', '--permissions', '{'], '--permissions is not JSON.'],
    [
      ['key', 'create', '--account', 'demo@example.com', '--permissions', '{"api":{"x":{}}}'],
      'permissions.api.x: is not a category',
    ],
    [['key', 'create', '--account', 'demo@example.com', '--expires', 'soon'], '--expires must be a time'],
    [
      ['key', 'create', '--account', 'demo@example.com', '--expires', '2020-01-31T12:00:00Z'],
      'expires: is in the past.',
    ],
    [['market', 'generate', '--machines', '0'], '--machines must be a whole number'],
  ])('gives operators an error message for %j', async (args, message) => {
    const { code, result, errors } = await runBerth(env, ...args)
    expect([code, result]).toEqual([1, ''])
    expect(errors).toContain(message)
  })

  it.each([
    [
      ['help'],
      /^The commands are:\n {2}account create .*\n {2}account list .*\n {2}key create .*\n {2}market generate .*\n"help NOUN VERB" explains one of them\.\n$/s,
    ],
    [
      ['key', 'create', '--help'],
      /^Creates an API key .*\n\nUsage:\n {2}key create --account … .*\n\n {2}--account .*\n$/s,
    ],
  ])('prints help for %j', async (args, expected) => {
    const command = spawnProgram('src/cli.ts', args, env)
    expect([await command.exit, command.errors()]).toEqual([0, ''])
    expect(command.output()).toMatch(expected)
  })

  it('finishes running requests when it stops, refuses new requests, and stops its database', async () => {
    const { port } = new URL(gateway.url)
    const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8')
    let text = ''
    socket.on('data', data => {
      text += data
    })
    const body = '{"limit":1}'
    const head = `POST /api/v0/bundles/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
    socket.write(head + body.slice(0, 5))
    await new Promise(resolve => setTimeout(resolve, 200))
    const stopped = stopProgram(gateway)
    await new Promise(resolve => setTimeout(resolve, 200))
    await expect(fetch(`${gateway.url}/health`)).rejects.toThrow()
    socket.write(body.slice(5))
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(await stopped).toBe(0)
    expect(isDatabaseRunning()).toBe(false)
  })

  it('stops cleanly when SIGINT comes twice', async () => {
    const twice = await startGateway(env)
    twice.child.kill('SIGINT')
    twice.child.kill('SIGINT')
    expect(await stopProgram(twice)).toBe(0)
    expect(isDatabaseRunning()).toBe(false)
  })

  it('keeps its data and its demo key after a restart', async () => {
    const again = await startGateway(env)
    expect(again.output()).toContain(`Demo key  in ${join(dataDir, 'demo-key')}`)
    expect(again.output()).not.toContain(key)
    expect(readFileSync(join(dataDir, 'demo-key'), 'utf8')).toBe(key)
    expect((await ask(again, '/api/v0/users/current/', key)).status).toBe(200)
    expect(await stopProgram(again)).toBe(0)
  })

  it('starts again after a kill, and later stops the database that was left running', async () => {
    const killed = await startGateway(env)
    killed.child.kill('SIGKILL')
    await killed.exit
    expect(isDatabaseRunning()).toBe(true)
    const next = await startGateway(env)
    expect((await ask(next, '/api/v0/users/current/', key)).status).toBe(200)
    expect(await stopProgram(next)).toBe(0)
    expect(isDatabaseRunning()).toBe(false)
  })

  it('keeps its database when a command that started it ends', async () => {
    const command = runBerth(env, 'market', 'generate', '--machines', '3000', '--seed', '7')
    const beside = await startGateway(env)
    expect((await command).code).toBe(0)
    expect((await ask(beside, '/ready', key)).status).toBe(200)
    expect(await stopProgram(beside)).toBe(0)
    expect(isDatabaseRunning()).toBe(false)
  })

  it('is not needed by a command, which prints the data folder that it works on', async () => {
    const command = spawnProgram('src/cli.ts', ['account', 'list'], env)
    expect([await command.exit, command.errors()]).toEqual([0, `Working on the data folder ${dataDir}.\n`])
    expect(isDatabaseRunning()).toBe(false)
  })

  it('is not needed to generate a large market', async () => {
    expect(await runBerth(env, 'market', 'generate', '--machines', '700', '--seed', '8')).toEqual({
      code: 0,
      errors: '',
      result: { seed: 8, added: 700, total: 700 },
    })
    expect(isDatabaseRunning()).toBe(false)
  })
})

describe('a gateway that cannot start', () => {
  it('reports every invalid setting', async () => {
    const gateway = spawnProgram('src/main.ts', [], { ...env, PORT: 'x', LOG_LEVEL: 'y' })
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toMatch(/^Berth cannot start\.\nPORT must be .*\nLOG_LEVEL must be .*\n$/)
  })

  it('reports that its port is in use before it creates anything', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const folder = join(dataDir, 'none')
    const gateway = spawnProgram('src/main.ts', [], { BERTH_DATA_DIR: folder, PORT: String(port) })
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toContain(
      `Port ${port} on 127.0.0.1 is in use. Stop the program that uses it, or set PORT to another port.`,
    )
    expect(existsSync(folder)).toBe(false)
    other.close()
  })

  it('reports that its database does not answer', async () => {
    const gateway = spawnProgram('src/main.ts', [], {
      ...env,
      PORT: '0',
      BERTH_SECRET,
      DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/x',
    })
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toContain('The database that DATABASE_URL names cannot be used: connect ECONNREFUSED')
    expect(gateway.errors()).not.toContain('secret')
  })

  it('reports that its packages are not installed', async () => {
    const file = 'src/require-node-24.cjs'
    mkdirSync(join(dataDir, 'clone/src'), { recursive: true })
    copyFileSync(join(import.meta.dirname, '../..', file), join(dataDir, 'clone', file))
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', `./${file}`, 'src/main.ts'], {
      cwd: join(dataDir, 'clone'),
      encoding: 'utf8',
    })
    expect({ status, stdout, stderr }).toEqual({
      ...{ status: 1, stdout: '' },
      stderr: 'The packages of Berth are not installed. Run npm ci first.\n',
    })
  })

  it('reports that its Node.js is too old', async () => {
    const pretendOldNode =
      "Object.defineProperty(process.versions, 'node', { value: '20.1.0' }); require('./src/require-node-24.cjs')"
    const { status, stderr } = spawnSync(process.execPath, ['--eval', pretendOldNode], { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^Berth needs Node\.js 24 or newer, and this is v24/)
  })
})

describe('a gateway on an external database', () => {
  it('becomes ready even if another gateway starts on the same empty database at once', async () => {
    const database = await createDatabase({ empty: true })
    const shared = { ...env, BERTH_SECRET, DATABASE_URL: database.url, DEMO_MARKET: 'true' }
    const gateways = await Promise.all([startGateway(shared), startGateway(shared)])
    const [, keyFile = ''] = /(\/\S+\/demo-key-\w+)/.exec(gateways[0].output()) ?? []
    const key = readFileSync(keyFile, 'utf8')
    const counts = await Promise.all(
      gateways.map(gateway => ask(gateway, '/graphql', key, { query: '{ offers { totalCount } }' })),
    )
    expect(counts[0]?.body.data).toEqual(counts[1]?.body.data)
    expect(counts[0]?.body.data.offers.totalCount).toBeGreaterThan(500)
    expect(await Promise.all(gateways.map(stopProgram))).toEqual([0, 0])
    await database.drop()
  })

  it('has no demo by default', async () => {
    const database = await createDatabase()
    const gateway = await startGateway({ ...env, BERTH_SECRET, DATABASE_URL: database.url })
    expect(gateway.output()).not.toContain('Demo key')
    expect(gateway.output()).toContain('npm run --silent berth -- account create --email')
    const { result } = await runBerth({ ...env, DATABASE_URL: database.url }, 'account', 'create', '--email', 'a@b.c')
    expect((await ask(gateway, '/api/v0/bundles/', result.apiKey, {})).body).toEqual({ offers: [] })
    expect(await stopProgram(gateway)).toBe(0)
    const again = await startGateway({ ...env, BERTH_SECRET, DATABASE_URL: database.url })
    expect(again.output()).not.toContain('account create')
    expect(await stopProgram(again)).toBe(0)
    await database.drop()
  })
})
