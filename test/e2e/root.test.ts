// What root starts works as another user.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { demoKeyFileName } from '../../src/data-folder.ts'
import {
  changeFolder,
  giveFile,
  makeFileFor,
  readOwnFile,
  writeNewFile,
} from '../../src/database/embedded/own-files.ts'
import { canRead } from '../../src/give-up-root.ts'
import { createDatabase } from '../support/database/database.ts'
import {
  type GatewayProcess,
  makeDataDir,
  runBerth,
  spawnProgram,
  startGateway,
  stopProgram,
} from '../support/processes/programs.ts'

const isRoot = process.getuid?.() === 0
const BERTH_SECRET = 'a secret of these tests'
const nobody = { uid: 65_534, gid: 65_534 }

let dataDir: string
let remove: () => Promise<void>

beforeAll(async () => {
  const made = await makeDataDir()
  dataDir = made.dataDir
  remove = made.remove
})

afterAll(() => remove())

/** Each id that a process has or could return to: real, effective, saved and of files. */
function powerOf({ child }: Pick<GatewayProcess, 'child'>) {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const words = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1]?.trim().split(/\s+/) ?? []
  const ids = (name: string) => [...new Set(words(name).map(Number))]
  const capabilities = ['CapPrm', 'CapEff', 'CapInh', 'CapAmb'].map(name => Number.parseInt(words(name)[0] ?? '', 16))
  return {
    users: ids('Uid'),
    groups: [...new Set([...ids('Gid'), ...ids('Groups')])],
    capabilities: new Set(capabilities),
  }
}
const ownerOf = (name: string) => statSync(join(dataDir, name)).uid
const keyIn = (folder: string) => readFileSync(join(folder, 'demo-key'), 'utf8')

async function statusOf({ url }: GatewayProcess, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  return await fetch(`${url}/api/v0/users/current/`, { headers }).then(
    ({ status }) => status,
    () => 0,
  )
}

describe.runIf(isRoot)('a gateway that root starts', { timeout: 180_000 }, () => {
  let key: string

  it('is nobody of consequence once it serves, and restarts its database all the same', async () => {
    const gateway = await startGateway({ BERTH_DATA_DIR: dataDir })
    const { users, groups, capabilities } = powerOf(gateway)
    expect(users).toHaveLength(1)
    expect(users).toEqual([ownerOf('postgres')])
    expect([...users, ...groups]).not.toContain(0)
    expect(capabilities).toEqual(new Set([0]))
    key = keyIn(dataDir)
    expect(await statusOf(gateway, key)).toBe(200)
    const page = await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } })
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('graphiql.js')])
    const [server = ''] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(server), 'SIGKILL')
    await expect
      .poll(() => readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8'), slowly)
      .not.toContain(server)
    await expect.poll(() => statusOf(gateway, key), slowly).toBe(200)
    const [restarted = ''] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
    const home = execFileSync('getent', ['passwd', String(users[0])], { encoding: 'utf8' }).split(':')[5]
    expect(readFileSync(`/proc/${restarted}/environ`, 'utf8').split('\0')).toContain(`HOME=${home}`)
    expect(await stopProgram(gateway), gateway.errors()).toBe(0)
  })

  it('keeps its data folder for root, and its files for the user alone', async () => {
    expect([statSync(dataDir).uid, ownerOf('secret'), ownerOf('demo-key')]).toEqual([
      ...[0, ownerOf('postgres'), ownerOf('postgres')],
    ])
    for (const name of ['secret', 'demo-key', 'postgres-password'])
      expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600)
    const command = await runBerth({ BERTH_DATA_DIR: dataDir }, 'account', 'create', '--email', 'ada@example.com')
    expect(command).toMatchObject({ code: 0, result: { email: 'ada@example.com' } })
  })

  it('goes on with the folder of a version that stayed root, as the user of its database', async () => {
    execFileSync('chown', ['-R', `${nobody.uid}:${nobody.gid}`, join(dataDir, 'postgres')])
    for (const name of ['secret', 'demo-key', 'postgres-password']) chownSync(join(dataDir, name), 0, 0)
    const gateway = await startGateway({ BERTH_DATA_DIR: dataDir })
    expect(powerOf(gateway)).toMatchObject({ users: [nobody.uid], capabilities: new Set([0]) })
    expect([ownerOf('secret'), ownerOf('demo-key')]).toEqual([nobody.uid, nobody.uid])
    expect([keyIn(dataDir), await statusOf(gateway, key)]).toEqual([key, 200])
    expect(await stopProgram(gateway)).toBe(0)
  })

  it('serves on a port that only root may take, as the user that RUN_AS names', async () => {
    const database = await createDatabase()
    const PORT = String(await findLowPort())
    const settings = { BERTH_DATA_DIR: dataDir, DATABASE_URL: database.url, BERTH_SECRET, DEMO_MARKET: 'true' }
    const gateway = await startGateway({ ...settings, PORT, RUN_AS: 'nobody' })
    expect(new URL(gateway.url).port).toBe(PORT)
    expect(powerOf(gateway)).toMatchObject({ users: [nobody.uid], groups: [nobody.gid] })
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(200)
    expect(await stopProgram(gateway)).toBe(0)
    await database.drop()
  })

  it.each([
    ['nobody-at-all', 'RUN_AS names the user "nobody-at-all", who does not exist. Create that user, or name another.'],
    ['0', 'RUN_AS names the user "0", who has the rights of root. Name another user.'],
  ])('does not start as the user %s', async (RUN_AS, message) => {
    const gateway = spawnProgram('src/main.ts', [], { BERTH_DATA_DIR: dataDir, PORT: '0', RUN_AS })
    expect([await gateway.exit, gateway.errors()]).toEqual([1, `Berth cannot start.\n${message}\n`])
  })

  it('stays root if RUN_AS says so', async () => {
    const database = await createDatabase()
    const settings = { BERTH_DATA_DIR: dataDir, DATABASE_URL: database.url, BERTH_SECRET }
    const gateway = await startGateway({ ...settings, RUN_AS: 'root' })
    expect(powerOf(gateway).users).toEqual([0])
    expect(await stopProgram(gateway)).toBe(0)
    await database.drop()
  })

  it('leaves a link in its data folder to its owner', async () => {
    const target = join(dataDir, 'of-root')
    writeFileSync(target, 'hush', { mode: 0o600 })
    rmSync(join(dataDir, 'demo-key'))
    execFileSync('ln', ['-s', target, join(dataDir, 'demo-key-0123456789ab')])
    execFileSync('ln', [target, join(dataDir, 'demo-key-ba9876543210')])
    const gateway = await startGateway({ BERTH_DATA_DIR: dataDir })
    expect(statSync(target).uid).toBe(0)
    expect(await stopProgram(gateway)).toBe(0)
  })

  it('makes nothing where a link in the folder of another user points', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-links-'))
    chmodSync(folder, 0o711)
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o755 })
    chownSync(data, nobody.uid, nobody.gid)
    const target = join(folder, 'of-root')
    const database = await createDatabase()
    const settings = { BERTH_DATA_DIR: data, DATABASE_URL: database.url, BERTH_SECRET, DEMO_MARKET: 'true' }
    symlinkSync(target, join(data, demoKeyFileName(database.url)))
    const refused = spawnProgram('src/main.ts', [], { ...settings, PORT: '0', RUN_AS: 'nobody' })
    expect([await refused.exit, refused.errors()]).toEqual([1, expect.stringContaining('EACCES')])
    expect(existsSync(target)).toBe(false)
    rmSync(join(data, demoKeyFileName(database.url)))
    const gateway = await startGateway({ ...settings, RUN_AS: 'nobody' })
    expect(await stopProgram(gateway)).toBe(0)
    await database.drop()
    rmSync(folder, { recursive: true })
  })
})

describe.runIf(isRoot)('root in the folder of another user', () => {
  let folder: string
  let target: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-own-'))
    target = join(folder, 'of-root')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('makes no file through a link, and gives none away', async () => {
    const file = join(folder, 'demo-key')
    symlinkSync(target, file)
    await makeFileFor(file, nobody)
    expect(existsSync(target)).toBe(false)
    writeFileSync(target, 'hush')
    await makeFileFor(file, nobody)
    await giveFile(file, nobody)
    expect(statSync(target).uid).toBe(0)
    await expect(writeNewFile(file, 'text', nobody)).rejects.toThrow('EEXIST')
    await expect(readOwnFile(file)).rejects.toThrow('ELOOP')
    expect(readFileSync(target, 'utf8')).toBe('hush')
  })

  it('changes no folder that is a link, or that another user has put there', async () => {
    mkdirSync(target, { mode: 0o700 })
    const link = join(folder, 'unfinished')
    symlinkSync(target, link)
    await expect(changeFolder(link, handle => handle.chmod(0o777))).rejects.toThrow(/ENOTDIR|ELOOP/)
    chownSync(target, nobody.uid, nobody.gid)
    await expect(changeFolder(target, handle => handle.chmod(0o777))).rejects.toThrow('was replaced')
    expect(statSync(target).mode & 0o777).toBe(0o700)
  })

  it('gives away its own new files, and leaves other things as they are', async () => {
    const file = join(folder, 'demo-key')
    await makeFileFor(file, nobody)
    expect(statSync(file)).toMatchObject({ ...nobody, size: 0 })
    const [pipe, inner] = [join(folder, 'pipe'), join(folder, 'inner')]
    execFileSync('mkfifo', [pipe])
    mkdirSync(inner)
    for (const path of [pipe, inner]) {
      await makeFileFor(path, nobody)
      await giveFile(path, nobody)
      expect(statSync(path).uid).toBe(0)
    }
    await giveFile(join(folder, 'missing'), nobody)
  })
})

const slowly = { timeout: 100_000, interval: 100 }

/** A free port below 1024. */
async function findLowPort(): Promise<number> {
  for (let port = 1_023; port > 600; port -= 1) {
    const probe = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise(resolve => probe.close(resolve))
    if (isFree) return port
  }
  throw new Error('All low ports are in use.')
}

it('tells which files another user can read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-read-'))
  const file = join(folder, 'program')
  writeFileSync(file, '', { mode: 0o644 })
  const user = { name: 'other', uid: 54_321, gid: 54_321, groups: [54_321] }
  const canReadAt = async (folderMode: number, fileMode: number) => {
    chmodSync(folder, folderMode)
    chmodSync(file, fileMode)
    return await canRead(file, user)
  }
  expect([await canReadAt(0o711, 0o644), await canReadAt(0o711, 0o640), await canReadAt(0o700, 0o644)]).toEqual([
    ...[true, false, false],
  ])
  rmSync(folder, { recursive: true })
})
