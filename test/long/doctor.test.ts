// The doctor looks at installations that are really broken. Its verdicts on single facts are in test/unit/doctor.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { type ReplicationPair, startReplicationPair } from '../support/database/replication-pair.ts'
import { urlAs } from '../support/database/roles.ts'
import { withSession } from '../support/database/sessions.ts'
import {
  type GatewayProcess,
  makeDataDir,
  spawnProgram,
  startGateway,
  stopProgram,
} from '../support/processes/programs.ts'
import { type ProxyHabits, startProxy } from '../support/processes/reverse-proxy.ts'
import { createWrongClocks } from '../support/processes/wrong-clocks.ts'
import { findPgbouncer, startPgbouncer } from '../support/proxies/pgbouncer.ts'

type Check = { name: string; state: string; found: string; advice: string | null }

const pgbouncer = await findPgbouncer()
const BERTH_SECRET = 'the secret of these tests'
let database: TestDatabase
let folder: Awaited<ReturnType<typeof makeDataDir>>
let env: Record<string, string>
let gateway: GatewayProcess

beforeAll(async () => {
  database = await createDatabase()
  folder = await makeDataDir()
  env = {
    ...{ BERTH_DATA_DIR: folder.dataDir, DATABASE_URL: database.url, BERTH_SECRET, DEMO_MARKET: 'false', PORT: '0' },
    ...{ METRICS: 'false', TRUSTED_PROXIES: '127.0.0.1' },
  }
  gateway = await startGateway({ ...env, SSH_PORT: '0', NOTEBOOK_PORT: '0' })
})

afterAll(async () => {
  await stopProgram(gateway)
  await database.drop()
  await folder.remove()
})

async function examine(settings: Record<string, string>, { args = [], enter = [] }: Options = {}) {
  const program = spawnProgram('src/cli.ts', ['doctor', ...args], settings, { enter })
  const code = await program.exit
  const checks = program
    .output()
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Check)
  return { code, checks, errors: program.errors(), output: program.output() }
}
type Options = { args?: string[]; enter?: string[] }

/** The checks that warn or fail, as "state name: found". Whether root's successor can read the program depends on the place. */
function problemsOf(checks: Check[]): string[] {
  const wrong = checks.filter(({ name, state }) => state !== 'ok' && name !== 'root')
  return wrong.map(({ state, name, found }) => `${state} ${name}: ${found}`)
}

/** Without those of the server of the tests, which may lose data. */
async function problemsWith(more: Record<string, string>, options: Options = {}): Promise<string[]> {
  const { checks } = await examine({ ...env, ...more }, options)
  return problemsOf(checks).filter(text => !text.startsWith('warn durability'))
}

const matching = (...patterns: RegExp[]) => patterns.map(pattern => expect.stringMatching(pattern))

async function withServer<T>(answer: string, work: (port: string) => Promise<T>): Promise<T> {
  const stranger = createServer(socket => {
    socket.on('error', () => {})
    socket.write(answer)
  })
  stranger.listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  try {
    return await work(String((stranger.address() as AddressInfo).port))
  } finally {
    stranger.close()
  }
}

describe('the doctor', () => {
  it('finds nothing wrong with an installation that works', async () => {
    const { port } = new URL(gateway.url)
    const { code, checks, errors } = await examine({ ...env, PORT: port })
    expect([code, errors, checks.filter(({ state }) => state === 'fail')]).toEqual([0, '', []])
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'settings',
        'program',
        'open files',
        'database',
        'migrations',
        'roles',
        'secret',
        'clock',
      ]),
    )
    expect(checks.find(({ name }) => name === 'port')?.found).toBe(
      `A gateway serves PORT ${port} on 127.0.0.1, and is ready.`,
    )
    expect(checks.find(({ name }) => name === 'secret')?.found).toContain('opens what the database has encrypted')
  })

  it('says what is wrong with the settings, and checks nothing else then', async () => {
    const { code, checks, errors } = await examine({ ...env, PORT: 'x', LOG_LEVEL: 'loud', LOG_LEVLE: 'info' })
    expect([code, errors]).toEqual([1, '2 of 3 checks failed.\n'])
    expect(problemsOf(checks)).toEqual(
      matching(/^fail settings: PORT must/, /^fail settings: LOG/, /^warn settings: Berth/),
    )
  })

  it('prints no password and no secret', async () => {
    const password = 'hunter2hunter2'
    const away = `postgresql://ada:${password}@127.0.0.1:1/market`
    const all = { DATABASE_OWNER_URL: away, DATABASE_METRICS_URL: away, DATABASE_REPLICA_URL: away, DATABASE_URL: away }
    const { code, errors, output } = await examine({ ...env, ...all, BERTH_SECRET: password })
    expect(code).toBe(1)
    expect(`${output}${errors}`).not.toContain('hunter2')
    const wrong = await examine({ ...env, ...all, DATABASE_URL: password, BERTH_SECRET: 'short' })
    expect(`${wrong.output}${wrong.errors}`).not.toMatch(/hunter2|short/)
  })
})

describe('the database', () => {
  it.each([
    ['that is away', 'postgresql://u:p@127.0.0.1:1/m', /the database m at 127\.0\.0\.1:1.*ECONNREFUSED/],
    [
      'that refuses the password',
      () => new URL(database.url).href.replace(/:[^:@/]+@/, ':x@'),
      /password authentication/,
    ],
    [
      'that does not exist',
      () => urlAs('app', database.url.replace(/\/[^/]+$/, '/none')),
      /database "none" does not exist/,
    ],
  ])('%s is named', async (_, url, found) => {
    const DATABASE_URL = typeof url === 'string' ? url : url()
    const own = { DATABASE_URL, DATABASE_OWNER_URL: DATABASE_URL, DATABASE_METRICS_URL: DATABASE_URL }
    const { code, checks } = await examine({ ...env, ...own })
    expect([code, problemsOf(checks)]).toEqual([1, [expect.stringMatching(found)]])
  })

  it('is the same for all of its roles', async () => {
    const other = await createDatabase()
    try {
      expect(
        await problemsWith({ DATABASE_OWNER_URL: urlAs('owner', other.url), DATABASE_URL: urlAs('app', database.url) }),
      ).toEqual(matching(/^fail database: DATABASE_OWNER_URL leads to another database/))
    } finally {
      await other.drop()
    }
  })

  it('without tables is migrated by a start, or by an operator if this role may not', async () => {
    const empty = await createDatabase({ empty: true })
    try {
      expect(await problemsWith({ DATABASE_URL: empty.url })).toEqual(matching(/^warn migrations: The database lacks/))
      const app = urlAs('app', empty.url)
      const own = { DATABASE_URL: app, DATABASE_OWNER_URL: app, DATABASE_METRICS_URL: app }
      expect(await problemsWith(own)).toEqual(matching(/^fail migrations: The database lacks/))
    } finally {
      await empty.drop()
    }
  })

  it('of a newer version may allow this one beside it', async () => {
    const newer = await createDatabase()
    try {
      await withSession(newer.url, session =>
        session.query(
          `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '', '99990101_new', now())`,
        ),
      )
      expect(await problemsWith({ DATABASE_URL: newer.url })).toEqual(
        matching(/^warn migrations: A newer version of Berth has migrated the database/),
      )
      await withSession(newer.url, session => session.query("UPDATE oldest_version SET migration = '99990101_new'"))
      expect(await problemsWith({ DATABASE_URL: newer.url })).toEqual(
        matching(/^fail migrations: A newer version of Berth migrated the database, and this one is too old/),
      )
    } finally {
      await newer.drop()
    }
  })

  it('needs the secret that encrypted it', async () => {
    expect(await problemsWith({ BERTH_SECRET: 'the secret of another database' })).toEqual(
      matching(/^fail secret: The database was encrypted with another secret/),
    )
    expect(await problemsWith({ BERTH_SECRET: '' })).toEqual(matching(/^fail secret: BERTH_SECRET is missing/))
  })

  it('gives its roles what they need and no more', async () => {
    const { username } = inject('logins').app
    const run = (sql: string) => withSession(database.url, session => session.query(sql))
    await run('REVOKE SELECT ON accounts FROM berth_app')
    const lacking = await problemsWith({})
    await run('GRANT SELECT ON accounts TO berth_app')
    expect(lacking).toEqual(matching(new RegExp(`^fail roles: The role ${username} lacks .*SELECT on accounts`)))
    const owner = urlAs('owner', database.url)
    const own = { DATABASE_URL: owner, DATABASE_OWNER_URL: owner, DATABASE_METRICS_URL: urlAs('app', database.url) }
    expect(await problemsWith(own)).toEqual(matching(/^warn roles: The role .* of DATABASE_URL owns the tables/))
  })

  it('has room for one more gateway, and loses no commits', async () => {
    const { pathname } = new URL(database.url)
    const run = (sql: string) => withSession(database.url, session => session.query(sql))
    await run(`ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`)
    await run(`ALTER DATABASE ${pathname.slice(1)} CONNECTION LIMIT 25`)
    const { checks } = await examine(env)
    await run(`ALTER DATABASE ${pathname.slice(1)} RESET synchronous_commit`)
    await run(`ALTER DATABASE ${pathname.slice(1)} CONNECTION LIMIT -1`)
    expect(problemsOf(checks)).toEqual(
      expect.arrayContaining(
        matching(/^warn durability: synchronous_commit is off/, /^warn connections: .* no room for another one/),
      ),
    )
    const [, most] =
      /allows (\d+) connections/.exec(checks.find(({ name }) => name === 'connections')?.found ?? '') ?? []
    expect(most).toBe('25')
    expect(await problemsWith({ DATABASE_POOL_SIZE: '200' })).toEqual(matching(/^fail connections: .* needs 203/))
  })

  it('has another clock', async context => {
    const clocks = await createWrongClocks()
    if (!clocks) return context.skip('faketime is not installed')
    const found = await problemsWith(clocks.envOf(0))
    await clocks.remove()
    expect(found).toEqual(matching(/^warn clock: This computer's clock is (299|300).* s ahead of the database's/))
  })
})

describe.skipIf(!pgbouncer)('a pooler', () => {
  async function lookThrough(mode: 'session' | 'transaction', settingsOf: (through: string) => Record<string, string>) {
    const pooler = await startPgbouncer(pgbouncer ?? [], database.url, { mode })
    try {
      return await problemsWith(settingsOf(pooler.url))
    } finally {
      await pooler.stop()
    }
  }
  const appThrough = (url: string) => ({
    ...{ DATABASE_URL: urlAs('app', url), DATABASE_OWNER_URL: urlAs('owner', database.url) },
    ...{ DATABASE_METRICS_URL: urlAs('metrics', database.url) },
  })
  const DATABASE_DIRECT_URL = () => urlAs('app', database.url)

  it('of transactions needs a way past it', async () => {
    expect(await lookThrough('transaction', appThrough)).toEqual(
      matching(/^fail pooler: DATABASE_URL leads to a pooler of transactions, where a gateway hears of no changes/),
    )
    expect(
      await lookThrough('transaction', url => ({ ...appThrough(url), DATABASE_DIRECT_URL: DATABASE_DIRECT_URL() })),
    ).toEqual([])
    expect(
      await lookThrough('transaction', url => ({
        ...{ ...appThrough(url), DATABASE_DIRECT_URL: DATABASE_DIRECT_URL() },
        DATABASE_OWNER_URL: urlAs('owner', url),
      })),
    ).toEqual(matching(/^fail pooler: DATABASE_OWNER_URL leads to a pooler of transactions, where no lock holds/))
  })

  it('of sessions must let gateways set their limits', async () => {
    expect(await lookThrough('session', appThrough)).toEqual(
      matching(/^fail pooler: The pooler of DATABASE_URL refuses what gateways ask for: unsupported startup parameter/),
    )
  })
})

describe('a standby', () => {
  let pair: ReplicationPair

  beforeAll(async () => {
    pair = await startReplicationPair()
    await stopProgram(await startGateway({ ...env, DATABASE_URL: pair.primaryUrl }))
  })

  afterAll(() => pair.close())

  const nameless = (url: string) => urlAs('app', url)
  const lookAt = (DATABASE_REPLICA_URL: string) =>
    problemsWith({ DATABASE_URL: pair.primaryUrl, DATABASE_REPLICA_URL, REPLICA_MAX_LAG_SECONDS: '1' })

  it('is no primary', async () => {
    const own = {
      DATABASE_URL: pair.standbyUrl,
      DATABASE_OWNER_URL: pair.standbyUrl,
      DATABASE_METRICS_URL: pair.standbyUrl,
    }
    expect(await problemsWith(own)).toEqual(matching(/^fail database: The database is a standby/))
  })

  it('serves reads while it follows the primary', async () => {
    expect(await lookAt(nameless(pair.standbyUrl))).toEqual([])
    expect(await lookAt(nameless(pair.primaryUrl))).toEqual(matching(/^warn replica: .* leads to a primary/))
    expect(await lookAt('postgresql://u:p@127.0.0.1:1/m')).toEqual(matching(/^fail database: .*DATABASE_REPLICA_URL/))
    await pair.disconnectStandby()
    await pair.runSql(pair.primaryUrl, 'CREATE TABLE unknown_to_the_standby ()')
    expect(await lookAt(nameless(pair.standbyUrl))).toEqual(
      matching(/^warn replica: The standby is more than 1 s behind/),
    )
  })
})

describe('this computer', () => {
  it('has ports that other programs hold', async () => {
    const silent = await withServer('', PORT => problemsWith({ PORT }))
    expect(silent).toEqual(matching(/^fail port: Another program has PORT/))
    const other = await withServer('SSH-2.0-OpenSSH_9.2\r\n', SSH_PORT => problemsWith({ SSH_PORT }))
    expect(other).toEqual(matching(/^fail ssh port: Another program has SSH_PORT/))
    const http = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'
    const web = await withServer(http, NOTEBOOK_PORT => problemsWith({ NOTEBOOK_PORT, SSH_PORT: '0' }))
    expect(web).toEqual(matching(/^fail notebook port: Another program has NOTEBOOK_PORT/))
    expect(await problemsWith({ HOST: '203.0.113.9' })).toEqual(matching(/^fail port: HOST is 203\.0\.113\.9/))
  })

  it('knows the ports of a gateway', async () => {
    const [, sshPort = ''] = /ssh -p (\d+)/.exec(gateway.output()) ?? []
    const [, notebookPort = ''] = /localhost:(\d+)\//.exec(gateway.output()) ?? []
    const { port } = new URL(gateway.url)
    const { checks } = await examine({ ...env, PORT: port, SSH_PORT: sshPort, NOTEBOOK_PORT: notebookPort })
    const ports = checks.filter(({ name }) => name.endsWith('port'))
    expect(ports.map(({ name, found }) => [name, /A gateway serves .* and is ready/.test(found)])).toEqual([
      ['port', true],
      ['ssh port', true],
      ['notebook port', true],
    ])
  })

  it('knows which addresses of a gateway lead nowhere', async () => {
    const { port, host } = new URL(gateway.url)
    const served = { PORT: port, GATEWAY_URL: gateway.url, SSH_PORT: '0' }
    expect(await problemsWith({ ...served, SSH_PUBLIC_ADDRESS: host })).toEqual([])
    expect(await problemsWith({ ...served, SSH_PUBLIC_ADDRESS: 'localhost:2' })).toEqual(
      matching(/^warn address: SSH_PUBLIC_ADDRESS leads to localhost:2, .*ECONNREFUSED/),
    )
  })

  it('lets the gateway have few open files', async () => {
    const enter = ['bash', '-c', 'ulimit -n 210 && exec "$@"', 'bash']
    expect(await problemsWith({}, { enter })).toEqual(matching(/^fail open files: The limit is 210/))
    const fewer = ['bash', '-c', 'ulimit -n 1024 && exec "$@"', 'bash']
    expect(await problemsWith({}, { enter: fewer })).toEqual(matching(/^warn open files: The limit is 1024/))
  })

  it('has the database that Berth brings along, with its files', async () => {
    const { dataDir, remove } = await makeDataDir()
    const own = { BERTH_DATA_DIR: dataDir, DEMO_MARKET: 'false', PORT: '0' }
    try {
      const before = await examine(own)
      expect([before.code, before.checks.find(({ name }) => name === 'database')?.found]).toEqual([
        0,
        `There is none in ${dataDir} yet: the first start makes it.`,
      ])
      const running = await startGateway(own)
      expect(problemsOf((await examine(own)).checks)).toEqual([])
      await stopProgram(running)
      await chmod(join(dataDir, 'secret'), 0o644)
      expect(problemsOf((await examine(own)).checks)).toEqual(
        matching(/^fail data folder: Others than its owner may open/),
      )
      await rm(join(dataDir, 'secret'))
      const lost = await examine(own)
      expect([lost.code, problemsOf(lost.checks)]).toEqual([
        1,
        matching(/^fail secret: .*secret is missing, and the database/),
      ])
      await chmod(join(dataDir, 'postgres', 'PG_VERSION'), 0o000)
      await rm(join(dataDir, 'postgres', 'global'), { recursive: true })
      expect(problemsOf((await examine(own)).checks)).toContainEqual(expect.stringMatching(/^fail database: /))
    } finally {
      await remove()
    }
  })
})

describe('what is in front', () => {
  async function lookThrough(habits: ProxyHabits, more: Record<string, string> = {}) {
    const proxy = await startProxy(gateway.url, habits)
    try {
      return await problemsWith(more, { args: ['--url', proxy.url] })
    } finally {
      proxy.close()
    }
  }

  it('may be nothing', async () => {
    const { code, checks } = await examine(env, { args: ['--url', gateway.url] })
    expect(code).toBe(1)
    // The gateway trusts this computer to be a proxy.
    expect(problemsOf(checks).filter(text => /proxy/.test(text))).toEqual(
      matching(/^fail proxy client: The proxy 127\.0\.0\.1 does not say who its clients are/),
    )
  })

  it('passes everything on as a good proxy does', async () => {
    expect(await lookThrough({})).toEqual([])
  })

  it('has a certificate that clients accept, and that does not end soon', async () => {
    const { dataDir, remove } = await makeDataDir()
    const [key, cert] = [join(dataDir, 'key.pem'), join(dataDir, 'cert.pem')]
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '5']
    const make = ['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    await promisify(execFile)('openssl', [...make, ...subject, '-keyout', key, '-out', cert])
    const tls = { key: await readFile(key), cert: await readFile(cert) }
    const day = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 8)
    expect(await lookThrough({ tls }, { NODE_EXTRA_CA_CERTS: cert })).toEqual(
      matching(new RegExp(`^warn certificate: The certificate ends on ${day}`)),
    )
    expect(await lookThrough({ tls })).toEqual(
      matching(/^fail proxy: https:\/\/127\.0\.0\.1:\d+ cannot be reached: self-signed certificate/),
    )
    await remove()
  })

  it('holds streams back, refuses WebSockets and bodies, and says nothing of clients', async () => {
    expect(await lookThrough({ buffers: true, addsNothing: true, bodyBytes: 10_000, upgrades: false })).toEqual(
      matching(
        /^fail proxy origin: Links in answers begin with http:\/\/127/,
        /^fail proxy client: The proxy 127\.0\.0\.1 does not say who its clients are/,
        /^fail proxy body: .* answered 413/,
        /^fail proxy sockets: WebSockets do not pass/,
        /^fail proxy streams: An event stream does not begin: the proxy holds it back/,
      ),
    )
  })

  it('cuts silent streams off', async () => {
    expect(await lookThrough({ idleMs: 2_000 })).toEqual(
      matching(/^fail proxy streams: An event stream breaks off when it is silent/),
    )
  })

  it('is no gateway with this secret, or not there', async () => {
    expect(await lookThrough({}, { BERTH_SECRET: 'the secret of another database' })).toEqual(
      matching(/^fail secret/, /^fail proxy: .*answers \d+, and not as a gateway with this secret/),
    )
    expect(await lookThrough({}, { BERTH_SECRET: '' })).toEqual(
      matching(/^fail secret/, /^fail proxy: A gateway says how requests arrive only to somebody who has its secret/),
    )
    expect(await problemsWith({}, { args: ['--url', 'http://127.0.0.1:1'] })).toEqual(
      matching(/^fail proxy: http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/),
    )
  })

  it.each(['berth.example.com', 'ftp://x', 'https://a:b@x', 'https://x/api', 'https://x?y'])('is not %s', async url => {
    const { code, checks, errors } = await examine(env, { args: ['--url', url] })
    expect([code, checks, errors]).toEqual([1, [], expect.stringMatching(/^--url must be http/)])
  })
})
