// The agent of a real host in a process of its own, which tests kill and start again.

import { waitFor } from '../engine/processes.ts'
import { type RunningProgram, spawnProgram } from '../processes/programs.ts'

export type AgentProcess = Awaited<ReturnType<typeof startAgentProcess>>
type Joining = { gateway: string; token: string; engine: string }

/** Joins with the token. The data folder keeps the key, with which the agent runs again. */
export async function startAgentProcess(dataDir: string, { gateway, token, engine }: Joining) {
  const everStarted: RunningProgram[] = []
  const spawn = (...args: string[]) =>
    everStarted.push(spawnProgram('src/cli.ts', ['host', ...args], { BERTH_DATA_DIR: dataDir, LOG_LEVEL: 'info' }))
  const newest = () => everStarted.at(-1) as RunningProgram
  const untilConnected = async () => {
    if (await waitFor(() => newest().errors().includes('The host is connected.'), 30_000)) return
    throw new Error(`The host is not connected: ${newest().errors()}`)
  }
  spawn('join', '--gateway', gateway, '--token', token, '--engine', engine)
  await untilConnected()

  return {
    untilConnected,
    /** Runs it with the kept key. */
    start: () => void spawn('run'),
    async kill(): Promise<void> {
      newest().child.kill('SIGKILL')
      await newest().exit
    },
    /** Ends it as a supervisor does, and returns its exit code. */
    async stop(): Promise<number | null> {
      newest().child.kill('SIGTERM')
      return await newest().exit
    },
    /** What all that ever ran have logged as an error. */
    errors: () => everStarted.flatMap(one => one.errors().match(/^\{"level":[56]0.*$/gm) ?? []),
  }
}
