import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newestMigration } from '../../src/database/history/versions.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { blocksOf, readPage } from '../support/docs.ts'
import { aMachineLine, printCsv } from '../support/machines/import-files.ts'
import { makeDataDir, runBerth, spawnProgram } from '../support/processes/programs.ts'

let database: TestDatabase
let dataFolder: Awaited<ReturnType<typeof makeDataDir>>
let env: Record<string, string>

beforeAll(async () => {
  database = await createDatabase()
  dataFolder = await makeDataDir()
  env = { BERTH_DATA_DIR: dataFolder.dataDir, DATABASE_URL: database.url }
  for (const email of ['ada@example.com', 'host@example.com'])
    await runBerth(env, 'account', 'create', '--email', email)
})

afterAll(async () => {
  await database.drop()
  await dataFolder.remove()
})

/** The line with which a command names its database before it works on it. */
function databaseAddress(url: string): string {
  const { host, pathname } = new URL(url)
  return `Working on the database ${pathname.slice(1)} at ${host}.\n`
}

/** Runs a list command, and returns its lines. */
async function runJsonLines(...args: string[]): Promise<Record<string, unknown>[]> {
  const command = spawnProgram('src/cli.ts', args, env)
  expect([await command.exit, command.errors()]).toEqual([0, databaseAddress(database.url)])
  const lines = command.output().split('\n')
  expect(lines.pop()).toBe('')
  return lines.map(line => JSON.parse(line))
}

async function writeDataFile(name: string, content: string): Promise<string> {
  const path = join(dataFolder.dataDir, name)
  await writeFile(path, content)
  return path
}

describe('an operator', () => {
  it('lists accounts as lines of JSON', async () => {
    const quotas = { instances: null, loading: null, diskGb: null, volumes: null }
    const emptyAccount = {
      name: '',
      credit: '0',
      costPerHour: '0',
      createdAt: expect.any(String),
      disabledAt: null,
      disabledReason: null,
      keys: 1,
      instances: 0,
      quotas,
    }
    expect(await runJsonLines('account', 'list')).toEqual([
      { id: 1, email: 'ada@example.com', ...emptyAccount },
      { id: 2, email: 'host@example.com', ...emptyAccount },
    ])
  })

  it('grants credit once, even if the command is repeated', async () => {
    const grant = ['credit', 'grant', '--account', 'ADA@example.com', '--amount', '25.5', '--idempotency-key', 't-1']
    const result = { account: 'ada@example.com', amount: '25.5', before: '0', after: '25.5', replayed: false }
    expect(await runBerth(env, ...grant, '--reason', 'welcome')).toEqual({ code: 0, errors: '', result })
    expect(await runBerth(env, ...grant)).toEqual({ code: 0, errors: '', result: { ...result, replayed: true } })
    expect(await runJsonLines('account', 'list')).toMatchObject([{ credit: '25.5' }, { credit: '0' }])
  })

  it('adjusts credit with a reason, and reads the ledger', async () => {
    const adjust = ['credit', 'adjust', '--account', 'ada@example.com', '--amount', '-0.5', '--reason', 'given twice']
    const result = { account: 'ada@example.com', amount: '-0.5', before: '25.5', after: '25', replayed: false }
    expect(await runBerth(env, ...adjust)).toEqual({ code: 0, errors: '', result })
    const [first, second] = await runJsonLines('ledger', 'list', '--account', 'ada@example.com')
    expect(first).toMatchObject({ kind: 'top_up', amount: '25.5', balanceAfter: '25.5', idempotencyKey: 't-1' })
    const period = { periodStart: null, periodEnd: null, costPerHour: null, carried: null }
    const nothing = { instanceId: null, volumeId: null, ...period }
    expect(second).toMatchObject({
      ...{ kind: 'adjustment', amount: '-0.5', balanceAfter: '25', reason: 'given twice', ...nothing },
    })
  })

  it('lists and revokes keys', async () => {
    const { result: made } = await runBerth(env, 'key', 'create', '--account', 'ada@example.com', '--name', 'laptop')
    const keys = await runJsonLines('key', 'list', '--account', 'ada@example.com')
    expect(keys).toMatchObject([{ name: 'default' }, { id: made.id, name: 'laptop', revokedAt: null }])
    const revoke = () => runBerth(env, 'key', 'revoke', '--account', 'ada@example.com', '--id', String(made.id))
    const result = { account: 'ada@example.com', revoked: 1, ids: [made.id] }
    expect(await revoke()).toEqual({ code: 0, errors: '', result })
    const errors = `ada@example.com has no unrevoked key with the id ${made.id}. "key list" prints the keys of the account.\n`
    expect(await revoke()).toEqual({ code: 1, errors, result: '' })
  })

  it('disables, caps and enables an account, named by its email address or its id', async () => {
    const reason = ['--reason', 'The card was charged back.']
    const disabled = await runBerth(env, 'account', 'disable', '--email', 'ADA@example.com', ...reason)
    const facts = { id: 1, email: 'ada@example.com', disabledReason: reason[1], caps: {} }
    expect(disabled).toMatchObject({ code: 0, errors: '', result: { ...facts, changed: true } })
    const again = await runBerth(env, 'account', 'disable', '--account', 'acc_1', ...reason)
    expect(again.result).toEqual({ ...disabled.result, changed: false })
    const cap = await runBerth(
      env,
      'account',
      'cap',
      '--account',
      '1',
      '--hour',
      '2.5',
      '--month',
      '100',
      '--stop-running',
    )
    const caps = Object.fromEntries(
      [
        ['hour', '2.5'],
        ['month', '100'],
      ].map(([window, amount]) => [window, { amount, stopsRunning: true, reachedAt: null }]),
    )
    expect(cap).toEqual({ code: 0, errors: '', result: { account: 'ada@example.com', caps } })
    expect((await runBerth(env, 'account', 'show', '--id', '1')).result).toMatchObject({ ...facts, caps })
    await runBerth(env, 'account', 'cap', '--id', '1', '--hour', 'none', '--month', 'none')
    const enabled = await runBerth(env, 'account', 'enable', '--id', '1')
    expect(enabled.result).toMatchObject({ ...facts, disabledAt: null, disabledReason: null, changed: true })
  })

  it('finds no instance where there is none', async () => {
    expect(
      await runJsonLines('instance', 'list', '--account', 'ada@example.com', '--status', 'RUNNING,destroyed'),
    ).toEqual([])
    const answers = []
    for (const verb of ['show', 'stop', 'destroy'])
      answers.push(
        await runBerth(env, 'instance', verb, '--id', 'ins_7', ...(verb === 'show' ? [] : ['--reason', 'x'])),
      )
    answers.push(await runBerth(env, 'instance', 'logs', '--id', '7'))
    expect(answers).toEqual(answers.map(() => ({ code: 1, errors: 'There is no instance 7.\n', result: '' })))
  })

  it('imports, drains, unlists, resumes, unplugs and plugs machines', async () => {
    const model = aMachineLine({ gpuVendor: 'nvidia', gpuRamMb: 24_564, gpuTflops: 82.6, gpuMaxPowerWatts: 450 })
    const known = { ...model, gpuMemoryBandwidthGigabytesPerSecond: 1_008, gpuComputeCapability: 8.9 }
    const path = await writeDataFile(
      'fleet.csv',
      `\ufeff${printCsv([known, { ...known, firstPort: 1, lastPort: 9 }], '\r\n')}`,
    )
    const importing = (...more: string[]) =>
      runBerth(env, 'machine', 'import', '--file', path, '--host', 'host@example.com', ...more)
    const imported = { host: 'host@example.com', machines: 2, newGpuModels: ['RTX 4090'] }
    expect((await importing('--dry-run')).result).toEqual({ ...imported, dryRun: true })
    expect(await runJsonLines('machine', 'list')).toEqual([])
    expect(await importing()).toEqual({ code: 0, errors: '', result: { ...imported, dryRun: false } })
    const { code, errors } = await importing()
    expect([code, errors.split('\n')]).toEqual([
      1,
      [expect.stringContaining('line 2: publicIp: '), expect.stringContaining('line 3: publicIp: '), ''],
    ])

    const [first] = await runJsonLines('machine', 'list', '--account', '2')
    const facts = { gpuModel: 'RTX 4090', numGpus: 2, freeGpus: 2, diskGb: 1_800, freeDiskGb: 1_800, freePorts: 100 }
    const prices = { pricePerGpuHour: '0.35', minimumBidPerGpuHour: '0.175', storagePricePerGbMonth: '0.2' }
    const dates = { listedUntil: '2027-12-31T00:00:00.000Z', drainedAt: null, unlistedAt: null, unconfirmedAt: null }
    const reach = { unreachableSince: null }
    const listed = { id: 1, host: 'host@example.com', state: 'listed', ...facts, ...prices, ...dates, ...reach }
    expect(first).toEqual({ ...listed, instances: 0, volumes: 0, engine: null, limitsDisk: true })
    const set = await runBerth(env, 'machine', 'set', '--id', 'mch_1', '--pricePerGpuHour', '0.4', '--city', 'Umeå')
    const changed = { ...listed, pricePerGpuHour: '0.4', city: 'Umeå', cpuRamGb: 257.5, downloadPricePerGb: '0' }
    expect(set).toMatchObject({ code: 0, errors: '', result: changed })
    expect((await runBerth(env, 'machine', 'show', '--id', '1')).result).toEqual(set.result)
    const states = []
    for (const verb of ['drain', 'unlist', 'resume']) {
      states.push((await runBerth(env, 'machine', verb, '--id', '1')).result.state)
    }
    expect(states).toEqual(['draining', 'unlisted', 'listed'])
    for (const [verb, answers] of [
      ['unplug', false],
      ['unplug', false],
      ['plug', true],
      ['plug', true],
    ] as const) {
      expect((await runBerth(env, 'machine', verb, '--id', '1')).result).toEqual({ id: 1, answers })
    }
  })

  it.each([
    [['credit', 'grant', '--amount', '1'], 'Missing --account.\nUsage:\n  credit grant --account … --amount …'],
    [['key', 'list', '--account', 'nobody@example.com'], 'There is no account with the email address'],
    [['machine', 'drain', '--id', '77'], 'There is no machine 77.'],
    [['machine', 'set', '--id', '1'], 'Nothing to change is given, such as --pricePerGpuHour 0.35.\nUsage:\n'],
    [['machine', 'set', '--id', '1', '--country', 'se'], 'country: must be two capital letters, as in ISO 3166'],
    [['machine', 'set', '--id', '1', '--numGpus', '4'], "Unknown option '--numGpus'"],
    [['machine', 'unplug', '--id', '77'], 'There is no machine 77.'],
    [['machine', 'plug', '--id', '77'], 'There is no machine 77.'],
    [['machine', 'import', '--host', 'x@y.z', '--file', '/none.csv'], '--file cannot be read: ENOENT'],
  ])('gets an error message for %j', async (args, message) => {
    const { code, result, errors } = await runBerth(env, ...args)
    expect([code, result]).toEqual([1, ''])
    expect(errors).toContain(message)
  })

  it('can stop reading a long list after its first lines', async () => {
    await runBerth(env, 'market', 'generate', '--machines', '1500')
    const command = spawnProgram('src/cli.ts', ['machine', 'list'], env)
    command.child.stdout?.once('data', () => command.child.stdout?.destroy())
    expect([await command.exit, command.errors()]).toEqual([0, databaseAddress(database.url)])
    const machines = await runJsonLines('machine', 'list')
    expect(new Set(machines.map(({ id }) => id)).size).toBe(1_502)
  })
})

describe('the doctor', () => {
  it('fails if one of its checks does, and goes on with the others', async () => {
    const doctor = spawnProgram('src/cli.ts', ['doctor'], { ...env, PORT: '0', BERTH_SECRET: '' })
    expect(await doctor.exit).toBe(1)
    const lines = doctor.output().trimEnd().split('\n')
    const checks = lines.map(line => JSON.parse(line) as Record<string, unknown>)
    const failed = checks.filter(({ state }) => state === 'fail')
    const advice = 'Set it to the output of "openssl rand -hex 32", the same on every gateway.'
    expect(failed).toEqual([{ name: 'secret', state: 'fail', found: 'BERTH_SECRET is missing.', advice }])
    expect(doctor.errors()).toBe(`1 of ${checks.length} checks failed.\n`)
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['settings', 'roles', 'disk', 'port']))
  })
})

describe('a command', () => {
  const complaint = 'The database that DATABASE_URL names cannot be used'
  const url = 'postgresql://ada:hunter2@127.0.0.1:1/market?password=hunter3'

  it.each([
    ['without other parts of the URL', url, 'the database market at 127.0.0.1:1'],
    [
      'even if the URL has no host',
      'postgresql:///m?host=/none&port=7&user=u&password=hunter2',
      'the database m at /none:7',
    ],
    [
      'only as DATABASE_URL if the URL is invalid',
      'postgresql://ada:hunter2@[x/market',
      'the database that DATABASE_URL names',
    ],
  ])('names its database before it does anything, %s', async (_, DATABASE_URL, where) => {
    const command = spawnProgram('src/cli.ts', ['account', 'list'], { ...env, DATABASE_URL })
    expect([await command.exit, command.output()]).toEqual([1, ''])
    const [first, second] = command.errors().split('\n')
    expect([first, second]).toEqual([`Working on ${where}.`, expect.stringContaining(complaint)])
    expect(command.errors()).not.toContain('hunter')
  })

  it('is told of a misspelled setting, without which the command may work on another database', async () => {
    const command = spawnProgram('src/cli.ts', ['account', 'list'], { ...env, BERTH_SECERT: 'x' })
    const warning = 'Berth has no setting BERTH_SECERT. Rename it to BERTH_SECRET, or remove it.\n'
    expect([await command.exit, command.errors()]).toEqual([0, `${databaseAddress(database.url)}${warning}`])
  })

  it('learns which version this is, without a database', async () => {
    const build = {
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      migration: newestMigration,
      node: process.versions.node,
    }
    const nowhere = { ...env, DATABASE_URL: 'postgresql://u:p@127.0.0.1:1/x' }
    for (const word of ['version', '--version'])
      expect(await runBerth(nowhere, word)).toEqual({ code: 0, result: build, errors: '' })
  })

  it('changes no database that lacks tables, which may be another one than is meant, except with "database migrate"', async () => {
    const empty = await createDatabase({ empty: true })
    try {
      const own = { ...env, DATABASE_URL: empty.url }
      const errors =
        'The database lacks Berth\'s tables. If it is the one that you mean, start a gateway of this version, or run "database migrate".\n'
      for (const command of [
        ['account', 'list'],
        ['account', 'create', '--email', 'a@example.com'],
      ])
        expect(await runBerth(own, ...command)).toEqual({ code: 1, result: '', errors })
      expect((await runBerth(own, 'database', 'migrate')).result.migrations).toContain(newestMigration)
      expect(await runBerth(own, 'account', 'list')).toEqual({ code: 0, result: '', errors: '' })
    } finally {
      await empty.drop()
    }
  })

  it('works when its standard error is closed', async () => {
    const command = spawnProgram('src/cli.ts', ['account', 'list'], env)
    command.child.stderr?.destroy()
    expect([await command.exit, command.output()]).toEqual([0, expect.stringContaining('"email":"ada@example.com"')])
  })

  it('does not name its database when its options are invalid', async () => {
    const command = spawnProgram('src/cli.ts', ['machine', 'drain'], env)
    expect([await command.exit, command.errors()]).toEqual([1, expect.stringMatching(/^Missing --id/)])
  })
})

describe('docs/operating.md', () => {
  const page = readPage('docs/operating.md')
  const [csv = ''] = blocksOf(page, 'csv')

  it('names every command, and shows a file that can be imported', async () => {
    const help = spawnProgram('src/cli.ts', ['help'], env)
    await help.exit
    const commands = [...help.output().matchAll(/^ {2}([\w-]+(?: \w+)?) {2}/gm)].map(([, name]) => name as string)
    expect(commands).toHaveLength(44)
    expect(commands.filter(name => !page.includes(`\`${name}\``))).toEqual([])
    const path = await writeDataFile('page.csv', csv)
    const { code, result, errors } = await runBerth(
      env,
      'machine',
      'import',
      '--file',
      path,
      '--host',
      'host@example.com',
    )
    expect([code, errors, result.machines]).toEqual([0, '', 2])
  })

  it('shows a file that can be imported into a new database without GPU models', async () => {
    const empty = await createDatabase()
    try {
      const own = { ...env, DATABASE_URL: empty.url }
      await runBerth(own, 'account', 'create', '--email', 'host@example.com')
      const path = await writeDataFile('page-first.csv', csv)
      const imported = await runBerth(own, 'machine', 'import', '--file', path, '--host', 'host@example.com')
      expect([imported.code, imported.errors]).toEqual([0, ''])
      expect(imported.result).toMatchObject({ machines: 2, newGpuModels: ['RTX 4090'] })
    } finally {
      await empty.drop()
    }
  })
})

it.each(['README.md', 'docs/operating.md'])("runs the operators' commands that %s shows", async name => {
  const [settings = '', ...commands] = blocksOf(readPage(name), 'sh operate')
  const names = [...settings.matchAll(/^(?:export )?([A-Z_]+)=/gm)].map(([, name]) => name)
  expect(names).toEqual(['DATABASE_URL', 'BERTH_SECRET_FILE', 'HOST'])
  const empty = await createDatabase()
  try {
    const script = commands.join('\n').replace(/ \| jq .*/, '')
    const own = { ...process.env, ...env, DATABASE_URL: empty.url, BERTH_SECRET: 'a secret of tests' }
    const { stdout } = await promisify(execFile)('bash', ['-euc', script], { env: own })
    const answers = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const account = { email: 'ada@example.com', apiKey: expect.stringMatching(/^berth_/) }
    expect(answers).toContainEqual(expect.objectContaining(account))
  } finally {
    await empty.drop()
  }
})
