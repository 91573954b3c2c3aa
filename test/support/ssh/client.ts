import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether OpenSSH's client is installed. Tests that need it are skipped without it, which the report shows. */
export const hasSsh = (() => {
  try {
    execFileSync('ssh', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

export type KeyPair = { file: string; publicKey: string }
export type SshRun = { code: number | null; stdout: string; stderr: string; output: Buffer; ms: number }
type RunOptions = {
  key?: KeyPair
  options?: string[]
  command?: string[]
  input?: Buffer | string | null
  user: string
}

/** Programs of OpenSSH against a port of this machine, with keys in a folder of their own. */
export function sshClient(port: () => number) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
  let keys = 0

  const settings = (key?: KeyPair) => [
    ...['-F', 'none', '-o', 'StrictHostKeyChecking=accept-new', '-o', `UserKnownHostsFile=${join(folder, 'known')}`],
    ...['-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none', '-o', 'LogLevel=INFO'],
    ...(key ? ['-i', key.file] : []),
  ]

  /** Starts a program. Its input is empty, unless there is one; null keeps the input open. */
  function start(program: string, args: string[], input: RunOptions['input'] = '') {
    const child = spawn(program, args)
    const begun = performance.now()
    const [out, err]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', chunk => out.push(chunk))
    child.stderr.on('data', chunk => err.push(chunk))
    child.stdin.on('error', () => {})
    if (input !== null) child.stdin.end(input)
    const ended = new Promise<SshRun>(resolve =>
      child.once('close', code => {
        const output = Buffer.concat(out)
        const ms = performance.now() - begun
        resolve({ code, stdout: output.toString(), stderr: Buffer.concat(err).toString(), output, ms })
      }),
    )
    return { child, ended, stdout: () => Buffer.concat(out).toString() }
  }

  const startSsh = ({ key, options = [], command = [], input = '', user }: RunOptions) =>
    start('ssh', [...settings(key), '-p', String(port()), ...options, `${user}@127.0.0.1`, ...command], input)

  return {
    folder,
    settings,
    start,
    startSsh,
    ssh: (run: RunOptions) => startSsh(run).ended,
    newKey(type = 'ed25519', bits?: number): KeyPair {
      keys += 1
      const file = join(folder, `id_${keys}`)
      const size = bits === undefined ? [] : ['-b', String(bits)]
      execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', `key ${keys}`, '-f', file])
      return { file, publicKey: readFileSync(`${file}.pub`, 'utf8').trim() }
    },
    /** The host key that the client has seen, as its fingerprint. */
    fingerprintSeen: () =>
      execFileSync('ssh-keygen', ['-l', '-f', join(folder, 'known')], { encoding: 'utf8' }).split(' ')[1],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
