// Each check that can warn or fail, with the facts that make it. What an installation has in order is in the first table.

import { describe, expect, it } from 'vitest'
import { type Check, failAs } from '../../../src/doctor/check.ts'
import { checkClock } from '../../../src/doctor/verdicts/clock.ts'
import { checkConnections, checkPooler, neededConnections } from '../../../src/doctor/verdicts/connections.ts'
import { checkDisk, printBytes } from '../../../src/doctor/verdicts/disk.ts'
import { checkOpenFiles } from '../../../src/doctor/verdicts/open-files.ts'
import { checkAddress, checkPort } from '../../../src/doctor/verdicts/ports.ts'
import { checkProgram } from '../../../src/doctor/verdicts/program.ts'
import {
  checkBody,
  checkCertificate,
  checkClient,
  checkMetrics,
  checkOrigin,
  checkReached,
  checkSocket,
  checkStream,
} from '../../../src/doctor/verdicts/proxy.ts'
import { checkReplica } from '../../../src/doctor/verdicts/replica.ts'
import { checkRoles, checkSchema } from '../../../src/doctor/verdicts/schema.ts'
import { checkSecret } from '../../../src/doctor/verdicts/secret.ts'
import {
  checkConnectFailure,
  checkDurability,
  checkServer,
  checkUpkeep,
  otherDatabase,
} from '../../../src/doctor/verdicts/server.ts'
import { checkSettings } from '../../../src/doctor/verdicts/settings.ts'
import { chapterOf, readPage } from '../../support/docs.ts'

const settings = { given: ['PORT', 'PATH'], known: ['PORT', 'BERTH_DATA_DIR', 'LOG_LEVEL'], problems: [] }
const program = { version: '0.1.0', node: '24.1.0', platform: 'linux x64', user: 'ada', root: undefined }
const root = { user: 'berth', runAs: undefined, problem: undefined }
const openFiles = { limit: 1_048_576, needs: { clients: 2_000, database: 13 } }
const server = {
  ...{ database: 'the database berth at db:5432', version: '17.2', versionNumber: 170_002, encoding: 'UTF8' },
  ...{ isStandby: false, bytes: 8_000_000 },
}
const connectFailure = { setting: 'DATABASE_URL', database: 'the database berth at db:5432', message: 'no' }
const durability = { fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on' }
const upkeep = { autovacuum: 'on', trackCounts: 'on', walLevel: 'replica', isArchiveFailing: false, idleSlots: [] }
const connections = {
  ...{ max: 100, reserved: 3, roleLimit: -1, databaseLimit: -1, used: 20, gateways: 1, needed: 13 },
}
const pooler = {
  ...{ setting: 'DATABASE_URL', isPooled: true, sharesSessions: false, refusal: undefined, hasDirectUrl: false },
}
const schema = { problem: undefined, pending: [], newer: [], edited: [], mayMigrate: true }
const roles = { role: 'berth_app', ownsTables: false, problem: undefined, unreadable: [] }
const secret = {
  ...{ source: 'setting' as const, file: '/data/secret', secret: '0123456789abcdef', mustBeSet: true },
  ...{ hasSealed: true, problem: undefined },
}
const clock = { aheadMs: 0, warningMs: 30_000 }
const replica = { isStandby: true, isOtherDatabase: false, lagMs: 12, maxLagMs: 5_000 }
const disk = {
  ...{ folder: '/data', exists: true, isWritable: true, freeBytes: 50e9 },
  ...{ databaseBytes: null, readableSecrets: [] },
}
const port = { setting: 'PORT', host: '127.0.0.1', port: 4000, holder: { kind: 'free' } as const }
const url = new URL('https://berth.example.com')
const echo = {
  ...{ peer: '10.0.0.5', isTrusted: true, address: '203.0.113.7', origin: url.origin, forwarded: '203.0.113.7' },
}
const answer = { status: 401, echo, certificateEndsAt: null }
const client = { url, plain: echo, forged: echo, forgedAddress: '192.0.2.66' }
const stream = { firstMs: 4, secondMs: 12_004, problem: undefined }
const now = new Date('2026-11-26T12:00:00Z')

const good: Record<string, Check[]> = {
  settings: checkSettings(settings),
  'no settings': checkSettings({ ...settings, given: [] }),
  program: checkProgram(program),
  'root with a user': checkProgram({ ...program, root }),
  'open files': [checkOpenFiles(openFiles)],
  'open files of a system that does not tell': [checkOpenFiles({ ...openFiles, limit: null })],
  server: [checkServer(server)],
  durability: checkDurability(durability),
  'a remote commit': checkDurability({ ...durability, synchronousCommit: 'remote_apply' }),
  upkeep: checkUpkeep({ ...upkeep, idleSlots: [{ name: 'standby', bytes: 1e6 }] }),
  connections: [checkConnections(connections)],
  pooler: checkPooler(pooler),
  'a pooler of transactions, and a way past it': checkPooler({
    ...{ ...pooler, sharesSessions: true, refusal: 'unsupported startup parameter', hasDirectUrl: true },
  }),
  'no pooler': checkPooler({ ...pooler, isPooled: false }),
  schema: checkSchema(schema),
  roles: checkRoles(roles),
  secret: checkSecret(secret),
  'an unused secret': checkSecret({ ...secret, hasSealed: false }),
  'a secret without a database': checkSecret({ ...secret, hasSealed: null }),
  'a secret that the first start makes': checkSecret({
    ...secret,
    mustBeSet: false,
    secret: undefined,
    hasSealed: null,
  }),
  clock: [checkClock({ ...clock, aheadMs: -30_000 })],
  replica: [checkReplica(replica)],
  disk: checkDisk(disk),
  'a data folder to be made': checkDisk({ ...disk, exists: false }),
  port: [checkPort(port)],
  'any port': [checkPort({ ...port, port: 0 })],
  'a gateway': [checkPort({ ...port, holder: { kind: 'gateway', status: 'ready' } })],
  'an address': [checkAddress({ setting: 'GATEWAY_URL', address: 'g:443', problem: undefined })],
  'a reached gateway': [checkReached(url, answer)],
  origin: [checkOrigin(url, echo)],
  'origin with its usual port': [checkOrigin(url, { ...echo, origin: 'https://berth.example.com:443' })],
  client: [checkClient(client)],
  'a client on the computer of the proxy': [
    checkClient({
      ...client,
      plain: { ...echo, address: '10.0.0.5', forwarded: '10.0.0.5' },
      forged: { ...echo, address: '192.0.2.66', forwarded: '192.0.2.66, 10.0.0.5' },
    }),
  ],
  'a client without a proxy': [
    checkClient({
      ...client,
      url: new URL('http://127.0.0.1:4000'),
      plain: { ...echo, isTrusted: false, address: '10.0.0.5', forwarded: '' },
      forged: { ...echo, isTrusted: false, address: '10.0.0.5', forwarded: '192.0.2.66' },
    }),
  ],
  body: [checkBody(answer, 100_000)],
  'closed metrics': checkMetrics(url, { ...answer, status: 404 }),
  'metrics of something else': checkMetrics(url, { ...answer, status: 200, echo: undefined }),
  'unreached metrics': checkMetrics(url, { problem: 'socket hang up' }),
  socket: [checkSocket({ problem: undefined })],
  stream: [checkStream(stream)],
  certificate: checkCertificate(new Date('2026-12-11T12:00:00Z'), now),
  'no certificate': checkCertificate(null, now),
}

type Bad = [what: string, checks: Check | Check[], state: 'warn' | 'fail', found: string, advice: string]
const bad: Bad[] = [
  [
    'a wrong setting',
    checkSettings({ ...settings, problems: ['PORT must be a port, 0 to 65535, not "x".'] }),
    'fail',
    'PORT must be a port, 0 to 65535, not "x".',
    'Correct it: docs/operating.md',
  ],
  [
    'a setting that needs another one',
    checkSettings({ ...settings, problems: ['SSH_PUBLIC_ADDRESS is missing. Renters cannot connect to ::. Set it.'] }),
    'fail',
    'SSH_PUBLIC_ADDRESS is missing.',
    'Renters cannot connect to ::. Set it.',
  ],
  [
    'a misspelled setting',
    checkSettings({ ...settings, given: ['LOG_LEVLE'] }),
    'warn',
    'Berth has no setting LOG_LEVLE.',
    'Rename it to LOG_LEVEL, or remove it.',
  ],
  [
    'a setting in small letters',
    checkSettings({ ...settings, given: ['log_level'] }),
    'warn',
    'Berth has no setting log_level.',
    'Rename it to LOG_LEVEL, or remove it.',
  ],
  [
    'a setting of its own that it does not know',
    checkSettings({ ...settings, given: ['BERTH_FOLDER_OF_DATA_AND_LOGS'] }),
    'warn',
    'Berth has no setting BERTH_FOLDER_OF_DATA_AND_LOGS.',
    'Remove it.',
  ],
  [
    'a program that the user cannot read',
    checkProgram({
      ...program,
      root: { ...root, problem: 'The user "berth" cannot read the program: /root/x. Move it.' },
    }),
    'warn',
    'The user "berth" cannot read the program: /root/x.',
    'Move it.',
  ],
  [
    'root without a user to become',
    checkProgram({
      ...program,
      root: { ...root, runAs: 'x', problem: 'RUN_AS names the user "x", who does not exist. Create it.' },
    }),
    'fail',
    'RUN_AS names the user "x", who does not exist.',
    'Create it.',
  ],
  [
    'root that stays',
    checkProgram({ ...program, root: { ...root, runAs: 'root' } }),
    'warn',
    'With RUN_AS=root',
    'Set RUN_AS',
  ],
  ['few open files', checkOpenFiles({ ...openFiles, limit: 212 }), 'fail', 'needs 213.', 'Raise the limit to 2213'],
  [
    'too few open files for all connections',
    checkOpenFiles({ ...openFiles, limit: 2_212 }),
    'warn',
    'The limit is 2212, and a gateway with all of its connections has 2213.',
    'Raise the limit to 2213',
  ],
  [
    'an old server',
    checkServer({ ...server, version: '14.9', versionNumber: 140_009 }),
    'fail',
    'PostgreSQL 14.9 is too old',
    'Upgrade it to version 15',
  ],
  [
    'a standby',
    checkServer({ ...server, isStandby: true }),
    'fail',
    'is a standby',
    'Set DATABASE_URL to the primary.',
  ],
  ['another encoding', checkServer({ ...server, encoding: 'SQL_ASCII' }), 'fail', 'SQL_ASCII', "ENCODING 'UTF8'"],
  ...(
    [
      ['28P01', 'Correct the user and the password in DATABASE_URL'],
      ['3D000', 'Create the database'],
      ['42501', 'GRANT CONNECT'],
      ['53300', 'max_connections'],
      ['ECONNREFUSED', 'Start the database'],
      [undefined, 'Start the database'],
    ] as const
  ).map(([code, advice]): Bad => {
    const found = 'The database that DATABASE_URL names (the database berth at db:5432) cannot be used: no.'
    return [`no connection: ${code}`, checkConnectFailure({ ...connectFailure, code }), 'fail', found, advice]
  }),
  ['two databases', otherDatabase('DATABASE_OWNER_URL'), 'fail', 'DATABASE_OWNER_URL leads to another', 'Set both'],
  ['no fsync', checkDurability({ ...durability, fsync: 'off' }), 'warn', 'fsync is off', 'Set fsync = on'],
  [
    'torn pages',
    checkDurability({ ...durability, fullPageWrites: 'off' }),
    'warn',
    'full_page_writes',
    'Set full_page',
  ],
  [
    'lazy commits',
    checkDurability({ ...durability, synchronousCommit: 'off' }),
    'warn',
    'synchronous_commit',
    'Set syn',
  ],
  ['no autovacuum', checkUpkeep({ ...upkeep, autovacuum: 'off' }), 'warn', 'Autovacuum is off', 'Set autovacuum'],
  ['no counts', checkUpkeep({ ...upkeep, trackCounts: 'off' }), 'warn', 'Autovacuum is off', 'track_counts'],
  [
    'minimal WAL',
    checkUpkeep({ ...upkeep, walLevel: 'minimal' }),
    'warn',
    'wal_level is minimal',
    'wal_level = replica',
  ],
  [
    'no archive',
    checkUpkeep({ ...upkeep, isArchiveFailing: true }),
    'warn',
    'archive_command fails',
    'Mend what the log',
  ],
  [
    'a forgotten slot',
    checkUpkeep({ ...upkeep, idleSlots: [{ name: 'old', bytes: 2.5e9 }] }),
    'warn',
    'The replication slot old has no standby, and keeps 2.5 GB of WAL',
    "pg_drop_replication_slot('old')",
  ],
  [
    'a server without room for one gateway',
    checkConnections({ ...connections, max: 15 }),
    'fail',
    'The database allows 12 connections, and one gateway needs 13.',
    'Raise max_connections',
  ],
  ['a role without room', checkConnections({ ...connections, roleLimit: 12 }), 'fail', 'allows 12', 'Raise max'],
  ['a database without room', checkConnections({ ...connections, databaseLimit: 5 }), 'fail', 'allows 5', 'Raise max'],
  ['used connections', checkConnections({ ...connections, used: 85 }), 'warn', '85 are open', 'Raise max_connections'],
  [
    'gateways that fill the server',
    checkConnections({ ...connections, gateways: 7 }),
    'warn',
    'A gateway needs up to 13, and 7 run now. There is no room for another one.',
    'Raise max_connections',
  ],
  [
    'a pooler of transactions',
    checkPooler({ ...pooler, sharesSessions: true }),
    'fail',
    'DATABASE_URL leads to a pooler of transactions, where a gateway hears of no changes',
    'Set DATABASE_DIRECT_URL to PostgreSQL itself',
  ],
  [
    'a pooler of transactions for the owner',
    checkPooler({ ...pooler, setting: 'DATABASE_OWNER_URL', sharesSessions: true, hasDirectUrl: true }),
    'fail',
    'DATABASE_OWNER_URL leads to a pooler of transactions, where no lock holds.',
    'Set DATABASE_OWNER_URL to PostgreSQL itself',
  ],
  [
    'a pooler of sessions that refuses gateways',
    checkPooler({ ...pooler, refusal: 'unsupported startup parameter: options' }),
    'fail',
    'The pooler of DATABASE_URL refuses what gateways ask for: unsupported startup parameter: options.',
    'Let the pooler ignore this parameter, or set DATABASE_URL to PostgreSQL itself.',
  ],
  [
    'a newer schema',
    checkSchema({
      ...schema,
      problem: 'A newer version of Berth migrated the database: it has 7. Upgrade Berth here.',
    }),
    'fail',
    'A newer version of Berth migrated the database: it has 7.',
    'Upgrade Berth here.',
  ],
  [
    'a newer schema beside which this version may run',
    checkSchema({ ...schema, newer: ['9_z'] }),
    'warn',
    'A newer version of Berth has migrated the database',
    'Upgrade Berth here',
  ],
  [
    'missing migrations that a start applies',
    checkSchema({ ...schema, pending: ['1_a', '2_b'] }),
    'warn',
    'The database lacks 2 migrations of this version, from 1_a on.',
    'Run "database migrate", or start a gateway',
  ],
  [
    'a missing migration that this role may not apply',
    checkSchema({ ...schema, pending: ['1_a'], mayMigrate: false }),
    'fail',
    'The database lacks 1 migration of this version',
    'with DATABASE_OWNER_URL',
  ],
  [
    'an edited migration',
    checkSchema({ ...schema, edited: ['1_a'] }),
    'warn',
    'The migration 1_a is',
    'Install the files',
  ],
  [
    'a role that lacks something',
    checkRoles({ ...roles, problem: 'The role x lacks privileges in the database: SELECT on accounts. Set it.' }),
    'fail',
    'The role x lacks privileges in the database: SELECT on accounts.',
    'Set it.',
  ],
  [
    'a role that may do everything',
    checkRoles({ ...roles, ownsTables: true }),
    'warn',
    'owns the tables',
    'Create the roles',
  ],
  [
    'metrics without columns',
    checkRoles({ ...roles, unreadable: ['a.b'] }),
    'fail',
    'may not read a.b.',
    'Make it a member',
  ],
  [
    'no secret',
    checkSecret({ ...secret, secret: undefined }),
    'fail',
    'BERTH_SECRET is missing.',
    'that the gateways of',
  ],
  [
    'no secret for a new database',
    checkSecret({ ...secret, secret: undefined, hasSealed: false }),
    'fail',
    'BERTH_SECRET is missing.',
    'Set it to the output of "openssl rand -hex 32"',
  ],
  [
    'a lost file of the secret',
    checkSecret({ ...secret, source: 'file', secret: undefined, mustBeSet: false }),
    'fail',
    '/data/secret is missing, and the database is encrypted with it.',
    'Restore the file from a backup.',
  ],
  [
    'an empty secret',
    checkSecret({ ...secret, source: 'file', secret: '' }),
    'fail',
    '/data/secret is empty.',
    'Restore',
  ],
  [
    'the secret of another database',
    checkSecret({ ...secret, problem: 'The database was encrypted with another secret. Set BERTH_SECRET to that.' }),
    'fail',
    'The database was encrypted with another secret.',
    'Set BERTH_SECRET to that.',
  ],
  [
    'a weak secret',
    checkSecret({ ...secret, secret: 'abcabcabcabcabcabc' }),
    'warn',
    'BERTH_SECRET has few different characters, so it is easy to guess.',
    'Stop all gateways, and run "secret change" with BERTH_NEW_SECRET set to the output of "openssl rand -hex 32".',
  ],
  [
    'a weak secret, and no answer of the database',
    checkSecret({ ...secret, secret: 'abcabcabcabcabcabc', hasSealed: null }),
    'warn',
    'easy to guess',
    'run "secret change"',
  ],
  [
    'a weak secret that is not used yet',
    checkSecret({ ...secret, secret: 'abcabcabcabcabcabc', hasSealed: false }),
    'warn',
    'easy to guess',
    'Set BERTH_SECRET to the output of "openssl rand -hex 32" before the first start',
  ],
  [
    'a weak secret in a file',
    checkSecret({ ...secret, source: 'file', secret: 'abcabcabcabcabcabc', mustBeSet: false }),
    'warn',
    '/data/secret has few different characters, so it is easy to guess.',
    'Stop all gateways, and run "secret change", which makes a new one.',
  ],
  ['a clock ahead', checkClock({ ...clock, aheadMs: 30_100 }), 'warn', '30.1 s ahead of the database', 'network time'],
  ['a clock behind', checkClock({ ...clock, aheadMs: -90_000 }), 'warn', '90 s behind the database', 'network time'],
  ['a late replica', checkReplica({ ...replica, lagMs: null }), 'warn', 'more than 5 s behind', 'pg_stat_replication'],
  [
    'a replica that is a primary',
    checkReplica({ ...replica, isStandby: false }),
    'warn',
    'to a primary',
    'to a standby',
  ],
  [
    'a replica of others',
    checkReplica({ ...replica, isOtherDatabase: true }),
    'fail',
    'another database',
    'to a standby',
  ],
  ['a closed folder', checkDisk({ ...disk, isWritable: false }), 'fail', 'cannot write to /data', 'Set BERTH_DATA_DIR'],
  ['a full disk', checkDisk({ ...disk, freeBytes: 199e6 }), 'fail', '199 MB are free in /data.', 'Free space'],
  ['little space', checkDisk({ ...disk, freeBytes: 1.9e9 }), 'warn', '1.9 GB are free', 'Free space'],
  [
    'less space than the database has',
    checkDisk({ ...disk, freeBytes: 5e9, databaseBytes: 6e9 }),
    'warn',
    '5 GB are free in /data, and the database there has 6 GB.',
    'Free space',
  ],
  [
    'an open file',
    checkDisk({ ...disk, readableSecrets: ['/data/secret'] }),
    'fail',
    'may open /data/secret',
    'chmod 600 /data',
  ],
  [
    'a stranger on the port',
    checkPort({ ...port, holder: { kind: 'stranger' } }),
    'fail',
    'Another program has PORT 4000 on 127.0.0.1.',
    'set PORT to another port.',
  ],
  [
    'an address of another computer',
    checkPort({ ...port, holder: { kind: 'impossible', problem: 'HOST is x, which is not here. Set it to one.' } }),
    'fail',
    'HOST is x, which is not here.',
    'Set it to one.',
  ],
  [
    'a gateway that is not ready',
    checkPort({ ...port, setting: 'SSH_PORT', holder: { kind: 'gateway', status: 'the database is a standby' } }),
    'fail',
    'The gateway at SSH_PORT 4000 on 127.0.0.1 is not ready: the database is a standby.',
    'Read its log',
  ],
  [
    'an address that nobody serves',
    checkAddress({ setting: 'SSH_PUBLIC_ADDRESS', address: 'ssh.example.com:2222', problem: 'ENOTFOUND' }),
    'warn',
    'SSH_PUBLIC_ADDRESS leads to ssh.example.com:2222, which cannot be reached from here: ENOTFOUND.',
    'Correct SSH_PUBLIC_ADDRESS',
  ],
  [
    'no proxy',
    checkReached(url, { problem: 'ECONNREFUSED' }),
    'fail',
    'cannot be reached: ECONNREFUSED.',
    'Start the proxy',
  ],
  [
    'a proxy to something else',
    checkReached(url, { ...answer, status: 502, echo: undefined }),
    'fail',
    'https://berth.example.com/graphql answers 502',
    'Let the proxy pass /graphql on',
  ],
  [
    'a lost scheme',
    checkOrigin(url, { ...echo, origin: 'http://berth.example.com' }),
    'fail',
    'Links in answers begin with http://berth.example.com, and not with https://berth.example.com.',
    'X-Forwarded-Proto',
  ],
  [
    'a lost host',
    checkOrigin(url, { ...echo, origin: 'https://10.0.0.9:4000' }),
    'fail',
    '10.0.0.9:4000',
    'Host header',
  ],
  [
    'an origin from a proxy that is not trusted',
    checkOrigin(url, { ...echo, origin: 'http://berth.example.com', isTrusted: false }),
    'fail',
    'Links in answers begin with http://berth.example.com',
    'Add 10.0.0.5, or the range of your proxies, to TRUSTED_PROXIES',
  ],
  ['an origin that is none', checkOrigin(url, { ...echo, origin: 'http://undefined:x' }), 'fail', ':x', 'Host header'],
  [
    'a forged client',
    checkClient({ ...client, forged: { ...echo, address: '192.0.2.66', forwarded: '192.0.2.66' } }),
    'fail',
    'The proxy 10.0.0.5 lets clients choose the address',
    'Let the proxy append',
  ],
  [
    'a proxy that names no client',
    checkClient({ ...client, plain: { ...echo, address: '10.0.0.5', forwarded: '' } }),
    'fail',
    'The proxy 10.0.0.5 does not say who its clients are',
    'Let the proxy append',
  ],
  [
    'a proxy that is not trusted',
    checkClient({ ...client, plain: { ...echo, isTrusted: false, address: '10.0.0.5' } }),
    'fail',
    'The proxy 10.0.0.5 is not trusted',
    'Add 10.0.0.5',
  ],
  [
    'TLS by a proxy that says nothing',
    checkClient({ ...client, plain: { ...echo, isTrusted: false, address: '10.0.0.5', forwarded: '' } }),
    'fail',
    'The proxy 10.0.0.5 is not trusted',
    'Add 10.0.0.5',
  ],
  [
    'a body that is too large',
    checkBody({ ...answer, status: 413, echo: undefined }, 100_000),
    'fail',
    'A body of 100000 bytes is answered 413 by the proxy.',
    'Raise the limit',
  ],
  [
    'a body that breaks off',
    checkBody({ problem: 'EPIPE' }, 100_000),
    'fail',
    'bytes fails: EPIPE.',
    'Raise the limit',
  ],
  ['open metrics', checkMetrics(url, { ...answer, status: 200 }), 'warn', 'can read /metrics', 'Set METRICS=false'],
  [
    'no WebSockets',
    checkSocket({ problem: 'status 400' }),
    'fail',
    'do not pass: status 400.',
    'Let the proxy pass on',
  ],
  [
    'a held stream',
    checkStream({ ...stream, firstMs: null, secondMs: null }),
    'fail',
    'An event stream does not begin: the proxy holds it back.',
    'Switch off buffering',
  ],
  [
    'a stream that is refused',
    checkStream({ firstMs: null, secondMs: null, problem: 'the answer has the status 504' }),
    'fail',
    'does not begin: the answer has the status 504.',
    'Switch off buffering',
  ],
  [
    'a stream that is cut',
    checkStream({ ...stream, secondMs: null, problem: 'it ends' }),
    'fail',
    'breaks off when it is silent: it ends.',
    'Raise the read timeout',
  ],
  [
    'a certificate that ends soon',
    checkCertificate(new Date('2026-12-10T11:59:59Z'), now),
    'warn',
    'The certificate ends on 2026-12-10.',
    'Renew it',
  ],
]

it.each(Object.entries(good))('finds nothing wrong with %s', (_, checks) => {
  expect(checks.filter(({ state, advice }) => state !== 'ok' || advice !== null)).toEqual([])
})

it.each(bad)('finds what is wrong with %s, and says what to do', (_, checks, state, found, advice) => {
  const wrong = [checks].flat().filter(check => check.state !== 'ok')
  expect(wrong).toEqual([
    { name: expect.any(String), state, found: expect.stringContaining(found), advice: expect.stringContaining(advice) },
  ])
  for (const check of wrong) expect(`${check.found} ${check.advice}`).toMatch(/^[\w/"].+[.!] [A-Z].+\.$/)
})

describe('the settings', () => {
  it.each(['HTTP_PROXY', 'npm_config_port', 'SSH_AUTH_SOCK', 'LOGNAME', 'HOSTNAME'])(
    'are not taken for %s, which other programs have',
    name => {
      const known = ['PORT', 'HOST', 'SSH_PROXY', 'SSH_PORT', 'LOG_LEVEL', 'METRICS']
      expect(checkSettings({ given: [name], known, problems: [] })).toHaveLength(1)
    },
  )

  it.each(['BERTH_SERVICE_HOST', 'BERTH_SERVICE_PORT_HTTP', 'BERTH_PORT', 'BERTH_PORT_4000_TCP_ADDR'])(
    'are not taken for %s, which Kubernetes sets for a service named berth',
    name => {
      expect(checkSettings({ given: [name], known: ['PORT', 'BERTH_SECRET'], problems: [] })).toHaveLength(1)
    },
  )
})

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_234, '1.2 kB'],
  [5e15, '5000 TB'],
])('prints %d bytes as %s', (bytes, text) => expect(printBytes(bytes)).toBe(text))

it('knows what a gateway needs, with its pool and with that of a pooler', () => {
  const poolSize = 10
  expect([false, true].map(isPooled => neededConnections({ poolSize, isPooled }))).toEqual([13, 4])
})

it('leaves a message without advice whole', () => {
  const [message, advice] = ['Port 1 on 127.0.0.1 is in use. no', 'Look.']
  expect(failAs('x', message, advice)).toEqual({ name: 'x', state: 'fail', found: message, advice })
})

it('docs/operating.md explains every check, and no other', () => {
  const page = chapterOf(readPage('docs/operating.md'), '### When something is wrong')
  const explained = [...page.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, names = '']) =>
    names.split(', ').map(name => name.replaceAll('`', '')),
  )
  const ports = ['SSH_PORT', 'NOTEBOOK_PORT'].map(setting => checkPort({ ...port, setting }))
  const checks = [...Object.values(good).flat(), ...bad.flatMap(([, found]) => found), ...ports]
  expect(explained.toSorted()).toEqual([...new Set(checks.map(({ name }) => name))].toSorted())
})
