// A computer that systemd runs, as a container in the network of this one. It has this project in /opt/berth, and the engine of the
// test at the usual socket.

import { join } from 'node:path'
import type { EngineDetails } from '../engine/details.ts'
import { socketPath } from '../engine/details.ts'
import { docker, runDocker } from '../engine/docker.ts'

const root = join(import.meta.dirname, '../../..')
const name = 'berth-machine'

const options = [
  ...['--detach', '--name', name, '--network', 'host', '--env', 'container=docker', '--cgroupns', 'private'],
  // What systemd needs to keep services apart.
  ...['SYS_ADMIN', 'SYS_PTRACE'].flatMap(power => ['--cap-add', power]),
  ...['seccomp', 'apparmor'].flatMap(filter => ['--security-opt', `${filter}=unconfined`]),
  ...['--tmpfs', '/run', '--tmpfs', '/tmp', '--volume', `${root}:/opt/berth:ro`],
]
/** On a computer, the kernel's mounts are shared: systemd shares those of secrets with its services. */
const boot = 'mount --make-rshared / && exec /lib/systemd/systemd'

export type Machine = Awaited<ReturnType<typeof startMachine>>

export async function startMachine({ folder }: Pick<EngineDetails, 'folder'>, image: string) {
  const socket = `${socketPath(folder)}:/run/docker.sock`
  await docker(folder, ['run', ...options, '--volume', socket, image, 'sh', '-c', boot])
  const attempt = (script: string) =>
    runDocker(folder, ['exec', '--interactive', '--workdir', '/opt/berth', name, 'sh', '-euc', script])
  return {
    /** Runs a script as root in /opt/berth, and returns what it prints. */
    async run(script: string): Promise<string> {
      const { code, stdout, stderr } = await attempt(script)
      if (code !== 0) throw new Error(`${script}\nended with ${code}: ${(stdout + stderr).slice(-4_000)}`)
      return stdout.trim()
    },
    /** Whether all services are up that a computer starts. */
    isRunning: async () => /^(running|degraded)/.test((await attempt('systemctl is-system-running || true')).stdout),
    put: (file: string, path: string) => docker(folder, ['cp', file, `${name}:${path}`]),
    log: async () => (await attempt('journalctl --no-pager --lines 100 || true')).stdout,
  }
}
