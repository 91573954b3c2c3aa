// Berth reports a data folder that PostgreSQL cannot use within seconds, with the cause and the paths.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareCluster, readLastPort, startServer } from '../../src/database/embedded/cluster.ts'
import { openEmbedded } from '../../src/database/embedded/embedded.ts'
import { canReach } from '../../src/database/embedded/engine.ts'
import { makeDataDir } from '../support/processes/programs.ts'

type DataFolder = Awaited<ReturnType<typeof makeDataDir>>
const isRoot = process.getuid?.() === 0
let intactFolder: DataFolder
let user: { uid?: number; gid?: number }

beforeAll(async () => {
  intactFolder = await makeDataDir()
  const { engine } = await prepareCluster(intactFolder.dataDir)
  user = engine.runAs
})

afterAll(() => intactFolder.remove())

/** Damages a copy of a data folder and opens it. Returns the error message, and the seconds until it came. */
async function openDamaged(damage: (folder: string, dataDir: string) => Promise<unknown>) {
  const { dataDir, remove } = await makeDataDir()
  await promisify(execFile)('cp', ['-a', `${intactFolder.dataDir}/.`, dataDir])
  const folder = join(dataDir, 'postgres')
  await damage(folder, dataDir)
  const start = performance.now()
  const opened = await openEmbedded({ dataDir, role: 'gateway', onLost: () => {} }).catch((error: Error) => error)
  const seconds = (performance.now() - start) / 1_000
  if (!(opened instanceof Error)) await opened.release()
  await remove()
  return { message: opened instanceof Error ? opened.message.replaceAll(dataDir, 'DIR') : undefined, seconds }
}

const expectedMessage = (cause: string) =>
  `PostgreSQL cannot run in DIR/postgres. ${cause} PostgreSQL's log is DIR/postgres/server.log.`

/** Starts a process of the user that the server runs as. */
function spawnSleep() {
  const child = spawn('sleep', ['60'], { ...user, stdio: 'ignore' })
  return { pid: child.pid as number, end: () => child.kill() }
}

describe('a data folder', () => {
  it.runIf(isRoot)('with the wrong owner is refused, with the right owner in the message', async () => {
    const { message, seconds } = await openDamaged(folder => chown(folder, 0, 0))
    expect(message).toBe(
      expectedMessage(
        `The folder belongs to user 0, but PostgreSQL runs as user ${user.uid}. Change its owner: chown -R ${user.uid}.`,
      ),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('that other users may read is refused, with the right mode in the message', async () => {
    const { message, seconds } = await openDamaged(folder => chmod(folder, 0o755))
    expect(message).toBe(
      expectedMessage("The folder's mode is 0755, but PostgreSQL accepts only 0700 or 0750. Change it: chmod 0700."),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('of another major version is refused, with both versions in the message', async () => {
    const { message, seconds } = await openDamaged(folder => writeFile(join(folder, 'PG_VERSION'), '17\n'))
    const advice =
      'Move the database with the command "upgrade-database", start the version of Berth that made the folder, or set BERTH_DATA_DIR to another folder.'
    expect(message).toBe(
      expectedMessage(`PostgreSQL 17 made the folder, but this version of Berth has PostgreSQL 18. ${advice}`),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('of a newer major version is refused, with the advice to start that version', async () => {
    const { message } = await openDamaged(folder => writeFile(join(folder, 'PG_VERSION'), '99\n'))
    const advice = 'Start the version of Berth that made the folder, or set BERTH_DATA_DIR to another folder.'
    expect(message).toBe(
      expectedMessage(`PostgreSQL 99 made the folder, but this version of Berth has PostgreSQL 18. ${advice}`),
    )
  })

  it("with a crashed server's pid file is refused if another process has the recorded id", async () => {
    const { pid, end } = spawnSleep()
    const pidFile = (folder: string) => `${pid}\n${folder}\n1\n1\n\n127.0.0.1\n0\nready\n`
    const { message, seconds } = await openDamaged(folder => writeFile(join(folder, 'postmaster.pid'), pidFile(folder)))
    end()
    const cause = `The server ended without removing postmaster.pid, which now names process ${pid} (sleep 60).`
    expect(message).toBe(expectedMessage(`${cause} Remove that file and start again.`))
    expect(seconds).toBeLessThan(5)
  })

  it("with a crashed server's pid file opens if no process has the recorded id", async () => {
    const { pid, end } = spawnSleep()
    end()
    await expect.poll(() => stat(`/proc/${pid}`).catch(() => 'gone')).toBe('gone')
    const { message } = await openDamaged(folder =>
      writeFile(join(folder, 'postmaster.pid'), `${pid}\n${folder}\n1\n1\n`),
    )
    expect(message).toBeUndefined()
  })

  it("with a killed server's pid file opens once the parent process has reaped the server", async () => {
    // The second `sleep` replaces the shell and never reaps the first one.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
      ...user,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [printed] = await once(parent.stdout, 'data')
    const pid = Number(printed)
    const readProcessStat = (id: number | undefined) => readFile(`/proc/${id}/stat`, 'utf8')
    await expect.poll(() => readProcessStat(parent.pid), { timeout: 5_000 }).toContain('(sleep)')
    process.kill(pid)
    await expect.poll(() => readProcessStat(pid), { timeout: 5_000 }).toContain(') Z ')
    // Longer than the retry limit for a server that ends at each start.
    setTimeout(() => parent.kill(), 3_000)
    const { message } = await openDamaged(folder =>
      writeFile(join(folder, 'postmaster.pid'), `${pid}\n${folder}\n1\n1\n`),
    )
    expect(message).toBeUndefined()
  })

  it('whose server was killed during a query opens once the query has ended', async () => {
    const { message } = await openDamaged(async (folder, dataDir) => {
      const cluster = await prepareCluster(dataDir)
      await startServer(cluster)
      const connection = { host: '127.0.0.1', port: await readLastPort(cluster), database: 'postgres' }
      const client = new pg.Client({ ...connection, user: 'berth', password: cluster.password })
      client.on('error', () => {})
      await client.connect()
      // Busy for longer than the retry limit for a server that ends at each start.
      const busy = "DO $$ BEGIN WHILE clock_timestamp() < now() + '5 s' LOOP END LOOP; END $$"
      client.query(busy).catch(() => {})
      await sleep(500)
      const [server] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n')
      process.kill(Number(server), 'SIGKILL')
    })
    expect(message).toBeUndefined()
  })

  it.each([
    [
      'a damaged control file',
      (folder: string) => writeFile(join(folder, 'global/pg_control'), Buffer.alloc(8_192, 1)),
      /The database cluster was initialized with PG_CONTROL_VERSION|control file/,
    ],
    [
      'no control file',
      (folder: string) => rm(join(folder, 'global/pg_control')),
      /Could not open file ".*pg_control"/,
    ],
    [
      'an invalid setting',
      (folder: string) => writeFile(join(folder, 'postgresql.auto.conf'), "shared_buffers = 'much'\n"),
      /postgresql\.auto\.conf" contains errors/,
    ],
  ])("with %s is refused, with PostgreSQL's reason in the message", async (_what, damage, cause) => {
    const { message, seconds } = await openDamaged(damage)
    expect(message).toMatch(
      /^PostgreSQL cannot run in DIR\/postgres\. .*\. PostgreSQL's log is DIR\/postgres\/server\.log\.$/,
    )
    expect(message).toMatch(cause)
    expect(seconds).toBeLessThan(5)
  })

  it.runIf(isRoot)('whose log cannot be written is refused', async () => {
    const { message, seconds } = await openDamaged(async folder => {
      await writeFile(join(folder, 'server.log'), '', { mode: 0o600 })
      await chown(join(folder, 'server.log'), 0, 0)
    })
    expect(message).toMatch(/^PostgreSQL cannot run in DIR\/postgres\. .*ermission denied.* PostgreSQL's log is DIR/s)
    expect(seconds).toBeLessThan(5)
  })

  it('whose password file was replaced is refused', async () => {
    const { dataDir } = intactFolder
    const opened = await openEmbedded({ dataDir, role: 'command', onLost: () => {} })
    const file = join(dataDir, 'postgres-password')
    const password = await readFile(file)
    for (const wrong of ['another', '']) {
      await writeFile(file, wrong)
      const start = performance.now()
      const second = openEmbedded({ dataDir, role: 'command', onLost: () => {} })
      await expect(second).rejects.toThrow(`The server rejects the password in ${file}.`)
      expect(performance.now() - start).toBeLessThan(5_000)
    }
    await writeFile(file, password)
    await opened.release()
  })

  it("on a full disk is refused, with PostgreSQL's reason in the message", async ({ skip }) => {
    const { dataDir, remove } = await makeDataDir()
    const run = promisify(execFile)
    const small = ['-t', 'tmpfs', '-o', 'size=4m,mode=711', 'tmpfs', dataDir]
    const failed = await run('mount', small).then(
      () => false,
      () => true,
    )
    // Mounting needs root, so the test is skipped for other users.
    if (failed) await remove().then(() => skip())
    const start = performance.now()
    const cause = /^PostgreSQL cannot create its files in .*\. .*No space left on device/
    await expect(prepareCluster(dataDir)).rejects.toThrow(cause)
    expect(performance.now() - start).toBeLessThan(5_000)
    await run('umount', [dataDir])
    await remove()
  })

  it('admits its owner, its group and other users as its mode says', async () => {
    const { dataDir, remove } = await makeDataDir()
    const { uid, gid } = await stat(dataDir)
    const canEnter = async (mode: number, as: { uid: number; gid: number }) => {
      await chmod(dataDir, mode)
      return await canReach(dataDir, as)
    }
    const [owner, group, other] = [
      { uid, gid: gid + 1 },
      { uid: uid + 1, gid },
      { uid: uid + 1, gid: gid + 1 },
    ]
    expect(
      await Promise.all([await canEnter(0o700, owner), await canEnter(0o700, group), await canEnter(0o700, other)]),
    ).toEqual([...[true, false, false]])
    expect([await canEnter(0o710, group), await canEnter(0o710, other), await canEnter(0o711, other)]).toEqual([
      true,
      false,
      true,
    ])
    await remove()
  })
})
