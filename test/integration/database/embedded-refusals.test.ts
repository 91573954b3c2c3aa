// A data folder that PostgreSQL cannot use is told within seconds, with the cause and the paths to look at.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareCluster } from '../../../src/database/embedded/cluster.ts'
import { openEmbedded } from '../../../src/database/embedded/embedded.ts'
import { canReach } from '../../../src/database/embedded/engine.ts'
import { makeDataDir } from '../../support/processes/programs.ts'

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

/** What is said of a data folder after something was done to it, and after how many seconds. */
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

/** A process of the user that the server runs as. */
function spawnSleep() {
  const child = spawn('sleep', ['60'], { ...user, stdio: 'ignore' })
  return { pid: child.pid as number, end: () => child.kill() }
}

describe('a data folder', () => {
  it.runIf(isRoot)('of the wrong owner is named, with the owner that it needs', async () => {
    const { message, seconds } = await openDamaged(folder => chown(folder, 0, 0))
    expect(message).toBe(
      expectedMessage(
        `The folder belongs to user 0, but PostgreSQL runs as user ${user.uid}. Change its owner: chown -R ${user.uid}.`,
      ),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('that others may read is named, with the mode that it needs', async () => {
    const { message, seconds } = await openDamaged(folder => chmod(folder, 0o755))
    expect(message).toBe(
      expectedMessage("The folder's mode is 0755, but PostgreSQL accepts only 0700 or 0750. Change it: chmod 0700."),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('of another major version is named, with both versions', async () => {
    const { message, seconds } = await openDamaged(folder => writeFile(join(folder, 'PG_VERSION'), '17\n'))
    const advice = 'Start the version of Berth that made the folder, or set BERTH_DATA_DIR to another folder.'
    expect(message).toBe(
      expectedMessage(`PostgreSQL 17 made the folder, but this version of Berth has PostgreSQL 18. ${advice}`),
    )
    expect(seconds).toBeLessThan(5)
  })

  it('with the pid file of a crash is named when another process has that id', async () => {
    const { pid, end } = spawnSleep()
    const pidFile = (folder: string) => `${pid}\n${folder}\n1\n1\n\n127.0.0.1\n0\nready\n`
    const { message, seconds } = await openDamaged(folder => writeFile(join(folder, 'postmaster.pid'), pidFile(folder)))
    end()
    const cause = `The server ended without removing postmaster.pid, which now names process ${pid} (sleep 60).`
    expect(message).toBe(expectedMessage(`${cause} Remove that file and start again.`))
    expect(seconds).toBeLessThan(5)
  })

  it('with the pid file of a crash is used when no process has that id', async () => {
    const { pid, end } = spawnSleep()
    end()
    await expect.poll(() => stat(`/proc/${pid}`).catch(() => 'gone')).toBe('gone')
    const { message } = await openDamaged(folder =>
      writeFile(join(folder, 'postmaster.pid'), `${pid}\n${folder}\n1\n1\n`),
    )
    expect(message).toBeUndefined()
  })

  it('with the pid file of a server that was just killed is used when its parent has taken notice', async () => {
    // The second `sleep` takes the place of the shell, and never asks how the first one ended.
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
    // Longer than a server may end at each start.
    setTimeout(() => parent.kill(), 3_000)
    const { message } = await openDamaged(folder =>
      writeFile(join(folder, 'postmaster.pid'), `${pid}\n${folder}\n1\n1\n`),
    )
    expect(message).toBeUndefined()
  })

  it('whose server was killed under a query is used when the query has ended', async () => {
    const { message } = await openDamaged(async (folder, dataDir) => {
      const { url } = await openEmbedded({ dataDir, role: 'command', onLost: () => {} })
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      // Busy for longer than a server may end at each start.
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
      'a control file that is damaged',
      (folder: string) => writeFile(join(folder, 'global/pg_control'), Buffer.alloc(8_192, 1)),
      /The database cluster was initialized with PG_CONTROL_VERSION|control file/,
    ],
    [
      'no control file',
      (folder: string) => rm(join(folder, 'global/pg_control')),
      /Could not open file ".*pg_control"/,
    ],
    [
      'a setting that is wrong',
      (folder: string) => writeFile(join(folder, 'postgresql.auto.conf'), "shared_buffers = 'much'\n"),
      /postgresql\.auto\.conf" contains errors/,
    ],
  ])('with %s is named, with what PostgreSQL says of it', async (_what, spoil, cause) => {
    const { message, seconds } = await openDamaged(spoil)
    expect(message).toMatch(
      /^PostgreSQL cannot run in DIR\/postgres\. .*\. PostgreSQL's log is DIR\/postgres\/server\.log\.$/,
    )
    expect(message).toMatch(cause)
    expect(seconds).toBeLessThan(5)
  })

  it.runIf(isRoot)('whose log cannot be written is named', async () => {
    const { message, seconds } = await openDamaged(async folder => {
      await writeFile(join(folder, 'server.log'), '', { mode: 0o600 })
      await chown(join(folder, 'server.log'), 0, 0)
    })
    expect(message).toMatch(/^PostgreSQL cannot run in DIR\/postgres\. .*ermission denied.* PostgreSQL's log is DIR/s)
    expect(seconds).toBeLessThan(5)
  })

  it('whose password file was replaced is named', async () => {
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

  it('that is full is named, with what PostgreSQL says of it', async ({ skip }) => {
    const { dataDir, remove } = await makeDataDir()
    const run = promisify(execFile)
    const small = ['-t', 'tmpfs', '-o', 'size=4m,mode=711', 'tmpfs', dataDir]
    const failed = await run('mount', small).then(
      () => false,
      () => true,
    )
    // Not everybody may mount.
    if (failed) await remove().then(() => skip())
    const start = performance.now()
    const cause = /^PostgreSQL cannot create its files in .*\. .*No space left on device/
    await expect(prepareCluster(dataDir)).rejects.toThrow(cause)
    expect(performance.now() - start).toBeLessThan(5_000)
    await run('umount', [dataDir])
    await remove()
  })

  it('is entered by its owner and its group, where others may not', async () => {
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
