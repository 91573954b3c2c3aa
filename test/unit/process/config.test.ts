import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config.ts'
import { isLoopback } from '../../../src/http/listen.ts'

const DATABASE_URL = 'postgresql://u:secret@db.example.com/berth'

describe('the settings', () => {
  it('all have a default', () => {
    const { dataDir, demoKeyFile, toolboxFile, ...config } = parseConfig({})
    expect(dataDir).toMatch(/berth$/i)
    expect(demoKeyFile).toBe(join(dataDir, 'demo-key'))
    expect(toolboxFile).toBe(join(dataDir, 'toolbox.tar'))
    expect(config).toEqual({
      host: '127.0.0.1',
      port: 4000,
      databaseUrl: undefined,
      poolSize: 10,
      runAs: undefined,
      replica: null,
      graphiql: true,
      metrics: true,
      logLevel: 'info',
      secret: undefined,
      newSecret: undefined,
      simulatedDelay: 1,
      sshProxy: null,
      ssh: null,
      notebooks: null,
      eventRetentionDays: 90,
      startTimeoutMs: 1_800_000,
      offlineGraceMs: 300_000,
      debtGraceMs: 172_800_000,
      drainMs: 0,
      minimumRunwayMs: 3_600_000,
      quotas: { instances: 1_000, loading: 64, diskGb: 100_000, volumes: 500 },
      privateWebhooks: false,
      publicSearch: true,
      pointsPerSecond: 20_000,
      trustedProxies: [],
      gatewayUrl: null,
      unknownSettings: [],
    })
  })

  it('that are misspelled are reported, beside those that are wrong', () => {
    const env = { DATABASE_ULR: DATABASE_URL, TRUSTED_PROXY: '', PATH: '/bin' }
    const sentence = 'Berth has no setting DATABASE_ULR. Rename it to DATABASE_URL, or remove it.'
    expect(parseConfig(env).unknownSettings).toEqual([sentence])
    expect(() => parseConfig({ ...env, PORT: 'x' })).toThrow(
      expect.objectContaining({
        message: `PORT must be a port, 0 to 65535, not "x".\n${sentence}`,
        errors: ['PORT must be a port, 0 to 65535, not "x".'],
      }),
    )
  })

  it('count as missing when they are empty', () => {
    expect(parseConfig({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 4000, databaseUrl: undefined })
  })

  it('are in minutes or hours if their name says so', () => {
    const waits = { START_TIMEOUT_MINUTES: '45', OFFLINE_GRACE_MINUTES: '1.5', DEBT_GRACE_HOURS: '72' }
    expect(parseConfig(waits)).toMatchObject({
      startTimeoutMs: 2_700_000,
      offlineGraceMs: 90_000,
      debtGraceMs: 259_200_000,
    })
  })

  it('leave time to drain if other gateways can take over', () => {
    expect(parseConfig({ DATABASE_URL })).toMatchObject({ drainMs: 5_000 })
    expect(parseConfig({ DATABASE_URL, DRAIN_SECONDS: '0' })).toMatchObject({ drainMs: 0 })
    expect(parseConfig({ DRAIN_SECONDS: '12.5' })).toMatchObject({ drainMs: 12_500 })
  })

  it("turn off the demo in an operator's own database by default", () => {
    expect(parseConfig({ DATABASE_URL }).demoKeyFile).toBeUndefined()
    expect(parseConfig({ DATABASE_URL, DEMO_MARKET: 'true' }).demoKeyFile).toBeDefined()
    expect(parseConfig({ DEMO_MARKET: 'false' }).demoKeyFile).toBeUndefined()
  })

  it('keep the demo key of each database in a separate file, whatever the user in the URL', () => {
    const fileFor = (url: string) =>
      parseConfig({ DATABASE_URL: url, DEMO_MARKET: 'true', BERTH_DATA_DIR: '/data' }).demoKeyFile
    const file = fileFor(DATABASE_URL)
    expect(file).toMatch(/^\/data\/demo-key-[0-9a-f]{12}$/)
    expect(fileFor(DATABASE_URL.replace('u:secret', 'me:other'))).toBe(file)
    expect(fileFor(`${DATABASE_URL}2`)).not.toBe(file)
    expect(parseConfig({ BERTH_DATA_DIR: '/data' }).demoKeyFile).toBe('/data/demo-key')
  })

  it('show GraphiQL and metrics only on this machine by default', () => {
    expect(parseConfig({ HOST: '0.0.0.0' })).toMatchObject({ graphiql: false, metrics: false })
    expect(parseConfig({ HOST: '::1' })).toMatchObject({ graphiql: true, metrics: true })
    expect(parseConfig({ HOST: '0.0.0.0', GRAPHIQL: 'true' })).toMatchObject({ graphiql: true, metrics: false })
    expect(parseConfig({ HOST: '0.0.0.0', METRICS: 'true' })).toMatchObject({ graphiql: false, metrics: true })
    expect(parseConfig({ METRICS: 'false' })).toMatchObject({ graphiql: true, metrics: false })
  })

  it('limit requests by points, unless they say 0', () => {
    expect(parseConfig({ RATE_LIMIT_POINTS_PER_SECOND: '0' }).pointsPerSecond).toBe(0)
    expect(parseConfig({ RATE_LIMIT_POINTS_PER_SECOND: '100' }).pointsPerSecond).toBe(100)
    for (const RATE_LIMIT_POINTS_PER_SECOND of ['99', '-1', '1.5', 'many'])
      expect(() => parseConfig({ RATE_LIMIT_POINTS_PER_SECOND })).toThrow(
        'RATE_LIMIT_POINTS_PER_SECOND must be a whole number, 0 or 100 to 1000000000',
      )
  })

  it('name the proxies in front by addresses and ranges', () => {
    const TRUSTED_PROXIES = '10.0.0.0/8, 2001:db8::1 192.0.2.7'
    expect(parseConfig({ TRUSTED_PROXIES }).trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::1', '192.0.2.7'])
  })

  it.each([
    'proxy.example.com',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/0',
    '::1/129',
    '10.0.0/8',
    'fe80::1%eth0',
    '10.0.0.1/8/8',
  ])('refuse the proxy %s', TRUSTED_PROXIES =>
    expect(() => parseConfig({ TRUSTED_PROXIES })).toThrow('TRUSTED_PROXIES must be a list of'),
  )

  it('name an SSH proxy by host and port', () => {
    expect(parseConfig({ SSH_PROXY: 'ssh.example.com:2222' }).sshProxy).toEqual({ host: 'ssh.example.com', port: 2222 })
  })

  it.each(['https://gateway-1.example.com', 'http://10.0.0.7:4000/', 'https://[fd00::7]:443'])(
    'name the gateway for hosts as %s',
    GATEWAY_URL => expect(parseConfig({ GATEWAY_URL }).gatewayUrl).toBe(GATEWAY_URL),
  )

  it('make the gateway its own SSH proxy, at HOST unless renters reach it elsewhere', () => {
    expect(parseConfig({ SSH_PORT: '2222' })).toMatchObject({ ssh: { port: 2222, address: null }, sshProxy: null })
    const SSH_PUBLIC_ADDRESS = 'ssh.example.com:22'
    const { ssh } = parseConfig({ HOST: '0.0.0.0', SSH_PORT: '0', SSH_PUBLIC_ADDRESS })
    expect(ssh).toEqual({ port: 0, address: { host: 'ssh.example.com', port: 22 } })
  })

  it.each([
    [{ SSH_PORT: '2222', SSH_PROXY: 'ssh.example.com:22' }, 'SSH_PORT and SSH_PROXY exclude each other'],
    [{ SSH_PUBLIC_ADDRESS: 'ssh.example.com:22' }, 'SSH_PUBLIC_ADDRESS needs SSH_PORT'],
    [{ SSH_PORT: '2222', HOST: '0.0.0.0' }, 'SSH_PUBLIC_ADDRESS is missing. Renters cannot connect to 0.0.0.0.'],
    [{ SSH_PORT: '2222', HOST: '::' }, 'SSH_PUBLIC_ADDRESS is missing.'],
  ])('refuse %j', (env, message) => {
    expect(() => parseConfig(env)).toThrow(message)
  })

  it.each([
    ['https://notebooks.example.com', { protocol: 'https', host: 'notebooks.example.com' }],
    ['https://Notebooks.example.com:443/', { protocol: 'https', host: 'notebooks.example.com' }],
    ['http://localhost:8888', { protocol: 'http', host: 'localhost:8888' }],
  ])('serve notebooks below %s', (NOTEBOOK_PUBLIC_URL, proxy) => {
    const env = { NOTEBOOK_PORT: '8888', SSH_PROXY: 'ssh.example.com:22', HOST: '0.0.0.0', TRUSTED_PROXIES: '10.0.0.1' }
    expect(parseConfig({ ...env, NOTEBOOK_PUBLIC_URL }).notebooks).toEqual({ port: 8888, proxy })
  })

  it('serve notebooks on loopback without a URL', () => {
    const env = { NOTEBOOK_PORT: '0', SSH_PORT: '0' }
    expect(parseConfig(env).notebooks).toEqual({ port: 0, proxy: null })
    expect(parseConfig({ ...env, HOST: '::1' }).notebooks).toEqual({ port: 0, proxy: null })
  })

  it.each([
    [{ NOTEBOOK_PORT: '1' }, 'NOTEBOOK_PORT needs SSH_PORT or SSH_PROXY: without an SSH proxy'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://notebooks.example.com' }, 'NOTEBOOK_PUBLIC_URL needs NOTEBOOK_PORT'],
    [{ NOTEBOOK_PORT: '1', SSH_PORT: '2', HOST: '10.0.0.1' }, 'NOTEBOOK_PUBLIC_URL is missing. Only on loopback'],
    [
      { NOTEBOOK_PORT: '1', SSH_PORT: '2', NOTEBOOK_PUBLIC_URL: 'https://notebooks.example.com' },
      'TRUSTED_PROXIES is missing.',
    ],
    [{ NOTEBOOK_PORT: '65536' }, 'NOTEBOOK_PORT must be a port, 0 to 65535, not "65536".'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://a.example/path' }, 'must be a URL of a host name, such as'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://127.0.0.1' }, 'must be a URL of a host name, such as'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://[::1]' }, 'must be a URL of a host name, such as'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://u:p@a.example' }, 'must be a URL of a host name, such as'],
    [{ NOTEBOOK_PUBLIC_URL: 'ftp://a.example' }, 'must be a URL of a host name, such as'],
    [{ NOTEBOOK_PUBLIC_URL: 'https://a.example:99999' }, 'must be a URL of a host name, such as'],
  ])('refuse %j', (env, message) => {
    expect(() => parseConfig(env)).toThrow(message)
  })

  it.each([
    ['SSH_PORT', '1', 'SSH_PORT must be a port, 0 or 2 to 65535, not "1".'],
    ['SSH_PORT', '65536', 'SSH_PORT must be a port'],
    ['SSH_PUBLIC_ADDRESS', 'ssh.example.com', 'SSH_PUBLIC_ADDRESS must be a host and a port'],
    [
      'GATEWAY_URL',
      'gateway-1:4000',
      'GATEWAY_URL must be a URL without a path, such as https://gateway-1.example.com, not',
    ],
    ['GATEWAY_URL', 'https://gateway-1.example.com/berth', 'GATEWAY_URL must be'],
    ['GATEWAY_URL', 'https://me:secret@gateway-1.example.com', 'GATEWAY_URL must be'],
    ['GATEWAY_URL', 'https://gateway-1:99999', 'GATEWAY_URL must be'],
    ['SSH_PROXY', 'ssh.example.com', 'SSH_PROXY must be a host and a port, such as ssh.example.com:2222, not "ssh.ex'],
    ['SSH_PROXY', 'ssh.example.com:1', 'SSH_PROXY must be'],
    ['SSH_PROXY', 'ssh.example.com:65536', 'SSH_PROXY must be'],
    ['SSH_PROXY', '-oProxyCommand=x:22', 'SSH_PROXY must be'],
    ['PORT', '70000', 'PORT must be a port, 0 to 65535, not "70000".'],
    ['PORT', '80.5', 'PORT must be a port'],
    ['HOST', 'a b', 'HOST must be a host name or an address, not "a b".'],
    ['REPLICA_MAX_LAG_SECONDS', '0', 'REPLICA_MAX_LAG_SECONDS must be a number of seconds, 1 to 60, not "0".'],
    ['DATABASE_DIRECT_URL', 'postgresql://db/berth', 'DATABASE_DIRECT_URL needs DATABASE_URL, which is not set.'],
    ['DATABASE_REPLICA_URL', 'postgresql://db/berth', 'DATABASE_REPLICA_URL needs DATABASE_URL, which is not set.'],
    ['DATABASE_POOL_SIZE', '3', 'DATABASE_POOL_SIZE must be a number of connections, 4 to 200, not "3".'],
    ['DEMO_MARKET', 'yes', 'DEMO_MARKET must be true or false, not "yes".'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of silent, fatal'],
    ['DEBT_GRACE_HOURS', '0.5', 'DEBT_GRACE_HOURS must be a number of hours, 1 to 8760, not "0.5".'],
    ['OFFLINE_GRACE_MINUTES', '0.5', 'OFFLINE_GRACE_MINUTES must be a number of minutes, 1 to 1440, not "0.5".'],
    ['START_TIMEOUT_MINUTES', 'long', 'START_TIMEOUT_MINUTES must be a number of minutes'],
    ['EVENT_RETENTION_DAYS', '2', 'EVENT_RETENTION_DAYS must be a number of days, 3 to 3650'],
    ['DATABASE_URL', 'mysql://x', 'DATABASE_URL must be a URL that begins with postgresql://'],
    [
      'DATABASE_URL',
      `${DATABASE_URL}?schema=tenant`,
      'and names no schema: Berth uses the schema public of the database.',
    ],
    ['DATABASE_URL', `${DATABASE_URL}?sslmode=require&schema=public`, 'and names no schema'],
  ])('refuse %s=%s', (name, value, message) => {
    expect(() => parseConfig({ [name]: value })).toThrow(message)
  })

  it('may name PostgreSQL itself beside a pooler, without showing its password', () => {
    const direct = DATABASE_URL.replace('db.', 'direct.')
    expect(parseConfig({ DATABASE_URL, DATABASE_DIRECT_URL: direct })).toMatchObject({
      ...{ databaseUrl: DATABASE_URL, directUrl: direct },
    })
    expect(() => parseConfig({ DATABASE_URL, DATABASE_DIRECT_URL: 'mysql://u:secret@db' })).toThrow(
      /^[^/]*:\/\/(?!.*secret)/,
    )
  })

  it('may name a database or a user like the parameter for a schema', () => {
    const databaseUrl = 'postgresql://schema=a:secret@db.example.com/schema=b?application_name=schema'
    expect(parseConfig({ DATABASE_URL: databaseUrl })).toMatchObject({ databaseUrl })
  })

  describe('that are secrets', () => {
    let folder: string
    const put = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'berth-settings-'))
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    it.each(['', '\n', '\r\n'])('may be in files that end with %j', end => {
      const env = {
        DATABASE_URL_FILE: put('url', `${DATABASE_URL}${end}`),
        DATABASE_OWNER_URL_FILE: put('owner', `${DATABASE_URL}?owner${end}`),
        BERTH_SECRET_FILE: put('secret', `a secret of 2 lines\n ${end}`),
      }
      expect(parseConfig({ ...env, BERTH_SECRET: '' })).toMatchObject({
        databaseUrl: DATABASE_URL,
        ownerUrl: `${DATABASE_URL}?owner`,
        secret: 'a secret of 2 lines\n ',
      })
    })

    it('are checked like others if they are in files, and no other setting is', () => {
      const env = { BERTH_SECRET_FILE: put('short', 'too short'), PORT_FILE: '/nowhere' }
      const wrong = () => parseConfig(env)
      expect(wrong).toThrow(/^BERTH_SECRET must be a string of at least 16 characters\.$/)
    })

    it('are refused, with the name of the file, if that is missing or empty, or one of two', () => {
      const env = {
        BERTH_SECRET: 'a secret of these tests',
        BERTH_SECRET_FILE: put('other', 'another secret of tests'),
        DATABASE_URL_FILE: join(folder, 'missing'),
        DATABASE_METRICS_URL_FILE: put('empty', '\n'),
      }
      expect(() => parseConfig(env)).toThrow(
        [
          `DATABASE_URL_FILE names a file that cannot be read: ENOENT: no such file or directory, open '${folder}/missing'.`,
          `DATABASE_METRICS_URL_FILE names an empty file: ${folder}/empty.`,
          'BERTH_SECRET and BERTH_SECRET_FILE exclude each other. Set one of them.',
        ].join('\n'),
      )
    })
  })

  it('report all problems at once, without secrets', () => {
    const wrong = () => parseConfig({ PORT: 'x', LOG_LEVEL: 'y', DATABASE_URL: 'postgres:secret' })
    expect(wrong).toThrow(/PORT must be .*\nDATABASE_URL must be .*\nLOG_LEVEL must be /s)
    expect(wrong).not.toThrow('secret')
    const short = () => parseConfig({ BERTH_SECRET: 'old-and-short', BERTH_NEW_SECRET: 'new-and-short' })
    expect(short).toThrow(
      /BERTH_SECRET must be a string of at least 16 characters\.\nBERTH_NEW_SECRET must be a string of at /,
    )
    expect(short).not.toThrow('and-short')
  })
})

it.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['[::1]', true],
  ['0.0.0.0', false],
  ['127.0.0.1.example.com', false],
  ['berth.example.com', false],
])('classifies %s as loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})
