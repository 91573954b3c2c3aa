// The agent of a real host in a process of its own, which tests kill and start again.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { waitFor } from '../engine/processes.ts'
import type { NetworkNamespace } from '../processes/network-namespace.ts'
import { type RunningProgram, spawnProgram } from '../processes/programs.ts'

export type AgentProcess = Awaited<ReturnType<typeof startAgentProcess>>
type Joining = { gateway: string; token: string; engine: string }

/**
 * Joins with the token. The data folder keeps the key, with which the agent runs again. In a namespace, it reaches a gateway that
 * listens on all addresses.
 */
export async function startAgentProcess(
  dataDir: string,
  { gateway, token, engine }: Joining,
  namespace?: NetworkNamespace,
) {
  const everStarted: RunningProgram[] = []
  const env = { BERTH_DATA_DIR: dataDir, LOG_LEVEL: 'info' }
  const spawn = (args: string[], enter: string[] = []) =>
    everStarted.push(spawnProgram('src/cli.ts', ['host', ...args], env, { enter }))
  const start = () => void spawn(['run'], namespace?.enter)
  const newest = () => everStarted.at(-1) as RunningProgram
  const untilConnected = async () => {
    if (await waitFor(() => newest().errors().includes('The host is connected.'), 30_000)) return
    throw new Error(`The host is not connected: ${newest().errors()}`)
  }
  const kill = async () => {
    newest().child.kill('SIGKILL')
    await newest().exit
  }
  spawn(['join', '--gateway', gateway, '--token', token, '--engine', engine])
  await untilConnected()
  if (namespace) {
    await kill()
    await changeGateway(dataDir, `http://${namespace.outside}:${new URL(gateway).port}`)
    start()
    await untilConnected()
  }

  return {
    untilConnected,
    /** Runs it with the kept key. */
    start,
    kill,
    /** What the newest has logged. */
    log: () => newest().errors(),
    /** Ends it as a supervisor does, and returns its exit code. */
    async stop(): Promise<number | null> {
      newest().child.kill('SIGTERM')
      return await newest().exit
    },
    /** What all that ever ran have logged as an error. */
    errors: () => everStarted.flatMap(one => one.errors().match(/^\{"level":[56]0.*$/gm) ?? []),
  }
}

/** `host join` takes no address of another computer without TLS. */
async function changeGateway(dataDir: string, gateway: string): Promise<void> {
  const file = join(dataDir, 'host/host.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), gateway }))
}
