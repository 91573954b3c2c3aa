import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CommandResult, docker, runDocker, runProgram } from './docker.ts'
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

/** A container that has the toolbox, as a driver would make it. Nothing of it is started. */
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
  await docker(folder, ['cp', '-', `${id}:/`], await readFile(engine.toolbox))
  const instance = instanceOf(folder, id)
  await instance.upload({ ...files, '/.berth/instance/onstart.sh': onStart })
  await instance.setKeys(keys)
  return instance
}

export type Instance = ReturnType<typeof instanceOf>

function instanceOf(folder: string, id: string) {
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
    setKeys: (keys: string[]) => upload({ '/.berth/instance/authorized_keys': keys.map(key => `${key}\n`).join('') }),
    applyKeys: () => runDocker(folder, ['exec', id, '/.berth/bin/busybox', 'sh', '/.berth/bin/apply-keys']),
    start: () => docker(folder, ['start', id]),
    stop: () => docker(folder, ['stop', '--time', '10', id]),
    remove: () => docker(folder, ['rm', '--force', '--volumes', id]),
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

export type KeyPair = { path: string; publicKey: string }

export async function createKeyPair(folder: string, name: string): Promise<KeyPair> {
  const path = join(folder, name)
  await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', path])
  return { path, publicKey: (await readFile(`${path}.pub`, 'utf8')).trim() }
}

/** The options of OpenSSH's client for one login with one key. */
function sshOptions({ path }: KeyPair): string[] {
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null']
  return ['-F', 'none', '-i', path, '-o', 'LogLevel=ERROR', ...options.flatMap(option => ['-o', option])]
}

export async function ssh(instance: Instance, key: KeyPair, ...command: string[]): Promise<CommandResult> {
  const port = await instance.sshPort()
  return runProgram('ssh', [...sshOptions(key), '-p', port, 'root@127.0.0.1', ...command])
}

/** Copies a file into the instance. */
export async function scp(instance: Instance, key: KeyPair, from: string, to: string): Promise<CommandResult> {
  const port = await instance.sshPort()
  return runProgram('scp', [...sshOptions(key), '-P', port, from, `root@127.0.0.1:${to}`])
}
