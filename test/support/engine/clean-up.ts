import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { isAnswering, runDocker } from './docker.ts'
import { type NetworkSettings, resetNetwork } from './network.ts'
import { endProcess, processTree } from './processes.ts'

const run = promisify(execFile)

/** Ends an engine and everything that it started, also if it does not answer, and removes what it leaves. */
export async function cleanUp({ folder, network }: { folder: string; network: NetworkSettings }): Promise<void> {
  if (await isAnswering(folder)) {
    const { stdout } = await runDocker(folder, ['ps', '--all', '--quiet'])
    const containers = stdout.split('\n').filter(Boolean)
    if (containers.length > 0) await runDocker(folder, ['rm', '--force', '--volumes', ...containers])
  }
  // Containers outlive their engine, and are found through the processes that watch them.
  const processes = processTree(folder)
  await Promise.all(processes.map(pid => endProcess(pid)))
  await Promise.all(processTree(folder).map(pid => endProcess(pid, { signal: 'SIGKILL' })))
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map(line => line.split(' ')[1] ?? '')
  for (const mount of mounts.toReversed()) if (mount.startsWith(folder)) await run('umount', ['--lazy', mount])
  await resetNetwork(network)
  await rm(folder, { recursive: true, force: true })
}
