import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Artifacts, buildArtifacts } from './artifacts.ts'
import { cleanUp } from './clean-up.ts'
import { type EngineDetails, images, socketPath } from './details.ts'
import { docker, isAnswering } from './docker.ts'
import { recordEngine, releaseLock, takeLock } from './lock.ts'
import { readNetwork } from './network.ts'
import { endProcess, isRunning, startDaemon, waitFor } from './processes.ts'
import { fillRegistry, startRegistry } from './registry.ts'

/** The engine starts this process itself, and it ends with the engine. */
const containerdPid = 'exec/containerd/containerd.pid'

export type TestEngine = EngineDetails & {
  /** Kills the engine as a crash does. Its containers go on. */
  killEngine(): Promise<void>
  /** Starts the engine again, ending it first if it runs. */
  restartEngine(): Promise<void>
}

/** Starts a Docker Engine of its own, with test images and a registry. Only one can run on a machine. */
export async function startEngine(): Promise<TestEngine & { stop(): Promise<void> }> {
  await takeLock(cleanUp)
  try {
    const artifacts = await buildArtifacts()
    const network = await readNetwork()
    const folder = await mkdtemp(join(tmpdir(), 'berth-engine-'))
    await recordEngine({ folder, network })
    const stop = async () => {
      await cleanUp({ folder, network })
      await releaseLock()
    }
    try {
      const details = await prepareEngine(folder, artifacts)
      return { ...attachEngine(details), stop }
    } catch (error) {
      await stop()
      throw error
    }
  } catch (error) {
    await releaseLock()
    throw error
  }
}

/** The running engine, for another process than the one that started it. */
export function attachEngine(details: EngineDetails): TestEngine {
  const { folder } = details
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    const [pid, containerd] = await Promise.all([readPid(folder, 'dockerd.pid'), readPid(folder, containerdPid)])
    if (pid) await endProcess(pid, { signal })
    if (containerd) await waitFor(() => !isRunning(containerd), 10_000)
    // A new engine would take an ended process that nobody collected for a running one.
    for (const name of ['dockerd.pid', containerdPid]) await rm(join(folder, name), { force: true })
  }
  return {
    ...details,
    killEngine: () => end('SIGKILL'),
    restartEngine: async () => {
      await end('SIGTERM')
      await runEngine(folder)
    },
  }
}

async function prepareEngine(folder: string, { toolbox, ...files }: Artifacts): Promise<EngineDetails> {
  await mkdir(join(folder, 'client'))
  const [registry] = await Promise.all([startRegistry(folder), runEngine(folder)])
  const importImage = (name: keyof typeof images, ...changes: string[]) =>
    docker(folder, ['import', ...changes.flatMap(change => ['--change', change]), files[name], images[name]])
  const shellImage = ['ENTRYPOINT ["/usr/bin/entrypoint"]', 'CMD ["sleep", "3600"]']
  await Promise.all([
    importImage('tiny', ...shellImage),
    importImage('notebook', ...shellImage),
    importImage('scratch', 'ENTRYPOINT ["/sleep"]', 'CMD ["3600"]'),
  ])
  await fillRegistry(folder, registry)
  return { folder, url: `unix://${socketPath(folder)}`, toolbox, images, registry }
}

/** Runs dockerd until it answers. Its addresses are of the range that is reserved for benchmarks of networks. */
async function runEngine(folder: string): Promise<void> {
  const inFolder = (name: string) => join(folder, name)
  const args = [
    ...['--data-root', inFolder('data'), '--exec-root', inFolder('exec'), '--pidfile', inFolder('dockerd.pid')],
    ...['--host', `unix://${socketPath(folder)}`, '--group', 'root', '--live-restore', '--log-level', 'warn'],
    ...['--bip', '198.18.77.1/24', '--default-address-pool', 'base=198.18.128.0/17,size=24'],
  ]
  // As a supervisor does: Docker 20.10 sometimes panics at its first start after it was killed.
  for (let starts = 1; starts <= 3; starts += 1) {
    const pid = startDaemon('dockerd', args, inFolder('dockerd.log'))
    await waitFor(async () => (await isAnswering(folder)) || !isRunning(pid), 20_000)
    if (await isAnswering(folder)) return
    if (isRunning(pid)) break
    await rm(inFolder('dockerd.pid'), { force: true })
  }
  const log = await readFile(inFolder('dockerd.log'), 'utf8')
  throw new Error(`The Docker Engine does not answer. Its log ends: ${log.slice(-2_000)}`)
}

async function readPid(folder: string, name: string): Promise<number | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => '')
  return Number(text) || undefined
}
