import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type CommandResult, runProgram } from './docker.ts'
import type { Instance } from './instance.ts'
import { waitFor } from './processes.ts'

export type KeyPair = { path: string; publicKey: string }

/** A new key pair, which is removed when the test ends. */
export async function createKeyPair(): Promise<KeyPair> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'key')
  await runProgram('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'renter@test', '-f', path])
  return { path, publicKey: (await readFile(`${path}.pub`, 'utf8')).trim() }
}

/** Runs a command line in the instance with OpenSSH's client. */
export async function ssh(instance: Instance, key: KeyPair, command: string, options: string[] = []) {
  return await sshTo({ host: '127.0.0.1', port: await instance.sshPort() }, key, command, options)
}

export async function sshTo(
  { host, port, user = 'root' }: { host: string; port: string | number; user?: string },
  key: KeyPair,
  command: string,
  options: string[] = [],
): Promise<CommandResult> {
  return await connect('ssh', [...clientOptions(key), ...options, '-p', String(port), `${user}@${host}`, command])
}

/** Copies a file into the instance. */
export async function scp(instance: Instance, key: KeyPair, from: string, to: string): Promise<CommandResult> {
  const port = await instance.sshPort()
  return connect('scp', [...clientOptions(key), '-P', port, from, `root@127.0.0.1:${to}`])
}

/** Options for one login, with one key and nothing of the user who runs the tests. */
function clientOptions({ path }: KeyPair): string[] {
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null']
  return ['-F', 'none', '-i', path, '-o', 'LogLevel=ERROR', ...options.flatMap(option => ['-o', option])]
}

/** Runs a client, again while no server listens: just after an instance is ready, or while its server starts again. */
async function connect(program: string, args: string[]): Promise<CommandResult> {
  let result: CommandResult | undefined
  await waitFor(async () => {
    result = await runProgram(program, args)
    return result.code === 0 || !/reset by|refused|closed by/.test(result.stderr)
  }, 5_000)
  if (!result) throw new Error(`${program} was not run.`)
  return result
}
