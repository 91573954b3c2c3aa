import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { docker, putArchive, runDocker } from './docker.ts'
import type { TestEngine } from './engine.ts'
import { waitFor } from './processes.ts'

export type InstanceOptions = {
  image: string
  mode?: 'sshDirect' | 'sshProxy' | 'jupyterDirect' | 'jupyterProxy'
  env?: Record<string, string>
  keys?: string[]
  onStart?: string
  /** Files to add to the image's own: the content by path. */
  files?: Record<string, string>
}

/** Makes, starts and awaits an instance. */
export async function startInstance(engine: TestEngine, options: InstanceOptions): Promise<Instance> {
  const instance = await createInstance(engine, options)
  await instance.start()
  await instance.waitForLine('[berth] ready')
  return instance
}

/** A container that has the toolbox, as a driver makes it. It is not started, and is removed when the test ends. */
export async function createInstance(
  engine: TestEngine,
  { image, mode = 'sshDirect', env = {}, keys = [], onStart = '', files = {} }: InstanceOptions,
): Promise<Instance> {
  const { folder } = engine
  const variables = Object.entries({ ...env, BERTH_MODE: mode }).flatMap(([name, value]) => ['-e', `${name}=${value}`])
  const id = await docker(folder, [
    ...['create', '--init', '--user', '0', '--publish', '127.0.0.1::22', '--entrypoint', '/.berth/bin/busybox'],
    ...variables,
    ...[image, 'sh', '/.berth/entry.sh'],
  ])
  onTestFinished(async () => void (await docker(folder, ['rm', '--force', '--volumes', id])))
  const instance = instanceOf(engine, id)
  await instance.putToolbox()
  await instance.upload({ ...files, '/.berth/instance/onstart.sh': onStart, ...keysFile(keys) })
  return instance
}

export type Instance = ReturnType<typeof instanceOf>

function instanceOf({ folder, toolbox }: TestEngine, id: string) {
  const upload = async (files: Record<string, string>) => {
    const root = await mkdtemp(join(tmpdir(), 'berth-upload-'))
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(root, path, '..'), { recursive: true })
      await writeFile(join(root, path), content)
      await chmod(join(root, path), 0o755)
    }
    await docker(folder, ['cp', `${root}/.`, `${id}:/`])
    await rm(root, { recursive: true })
  }
  const logs = async () => {
    const { stdout, stderr } = await runDocker(folder, ['logs', id])
    return (stdout + stderr).split('\n').filter(Boolean)
  }
  return {
    id,
    upload,
    logs,
    putToolbox: async () => putArchive(folder, id, await readFile(toolbox)),
    setKeys: (keys: string[]) => upload(keysFile(keys)),
    applyKeys: () => runDocker(folder, ['exec', id, '/.berth/bin/busybox', 'sh', '/.berth/bin/apply-keys']),
    start: () => docker(folder, ['start', id]),
    stop: () => docker(folder, ['stop', '--time', '10', id]),
    /** Runs a command with the toolbox's own shell. */
    exec: (command: string) => runDocker(folder, ['exec', id, '/.berth/bin/busybox', 'sh', '-c', command]),
    inspect: (format: string) => docker(folder, ['inspect', '--format', format, id]),
    /** Waits for a line of the log, once for each start of the container. */
    waitForLine: async (line: string, times = 1) => {
      const isThere = async () => (await logs()).filter(other => other.includes(line)).length >= times
      if (!(await waitFor(isThere, 15_000))) throw new Error(`No line "${line}" in: ${(await logs()).join('\n')}`)
    },
    sshPort: async () => (await docker(folder, ['port', id, '22/tcp'])).split(':').at(-1) ?? '',
  }
}

function keysFile(keys: string[]): Record<string, string> {
  return { '/.berth/instance/authorized_keys': keys.map(key => `${key}\n`).join('') }
}
