// Gateway processes that share a database. Tests kill them, one at a time or all at once.

import { type GatewayProcess, startGateway, stopProgram } from '../processes/programs.ts'
import type { SeededRandom } from '../seeded-random.ts'

export type GatewayFleet = Awaited<ReturnType<typeof startGatewayFleet>>

type Env = Record<string, string>

/** `envOf` returns the settings of the gateway in a place. A gateway that replaces it gets the same settings. */
export async function startGatewayFleet(env: Env, size: number, envOf: (place: number) => Env = () => ({})) {
  const everStarted: GatewayProcess[] = []
  const alive = new Map<GatewayProcess, number>()
  /** Exits of gateways that no test killed. */
  const unexpectedExits: string[] = []
  const start = async (place: number) => {
    // Suites of crashes load a gateway as one client.
    const gateway = await startGateway({ RATE_LIMIT_POINTS_PER_SECOND: '0', ...env, ...envOf(place) })
    everStarted.push(gateway)
    void gateway.exit.then(code => alive.has(gateway) && unexpectedExits.push(`${code}: ${gateway.errors()}`))
    return gateway
  }
  const startAll = async () => {
    const gateways = await Promise.all(Array.from({ length: size }, (_, place) => start(place)))
    for (const [place, gateway] of gateways.entries()) alive.set(gateway, place)
  }
  await startAll()

  const pick = (random: SeededRandom) => random.pick([...alive]) as [GatewayProcess, number]

  async function kill(gateway: GatewayProcess): Promise<void> {
    alive.delete(gateway)
    gateway.child.kill('SIGKILL')
    await gateway.exit
  }

  return {
    urls: () => [...alive.keys()].map(({ url }) => url),
    /** The URL of a random gateway that is not known to be dead. */
    async pickUrl(random: SeededRandom): Promise<string> {
      if (unexpectedExits.length > 0) throw new Error(`A gateway exited unexpectedly: ${unexpectedExits[0]}`)
      const gateway = random.pick([...alive.keys()])
      if (!gateway) throw new Error('No gateway is alive.')
      return gateway.url
    },
    /** Kills a random gateway, and starts another in its place. */
    async killAndReplace(random: SeededRandom): Promise<void> {
      const [gateway, place] = pick(random)
      await kill(gateway)
      alive.set(await start(place), place)
    },
    /** Ends a random gateway as a supervisor does, and starts another in its place. Returns the exit code. */
    async stopAndReplace(random: SeededRandom): Promise<number | null> {
      const [gateway, place] = pick(random)
      alive.delete(gateway)
      gateway.child.kill('SIGTERM')
      const code = await gateway.exit
      alive.set(await start(place), place)
      return code
    },
    /** All gateways stand still during the work, or a random one. */
    async pause(which: SeededRandom | 'all', meanwhile: () => Promise<unknown>): Promise<void> {
      const paused = which === 'all' ? [...alive.keys()] : [pick(which)[0]]
      for (const { child } of paused) child.kill('SIGSTOP')
      await meanwhile().finally(() => {
        for (const { child } of paused) child.kill('SIGCONT')
      })
    },
    /** Kills all gateways at once. They start again after `meanwhile`. */
    async killAndReplaceAll(meanwhile: () => Promise<void>): Promise<void> {
      await Promise.all([...alive.keys()].map(kill))
      await meanwhile()
      await startAll()
    },
    /** Ends all gateways as a supervisor does, and returns their exit codes. */
    async stop(): Promise<(number | null)[]> {
      const gateways = [...alive.keys()]
      alive.clear()
      return await Promise.all(gateways.map(stopProgram))
    },
    /** Log lines of all gateways ever started, at this level or above. */
    logLinesFrom: (level: number) =>
      everStarted.flatMap(gateway =>
        gateway
          .errors()
          .split('\n')
          .filter(line => line.startsWith('{') && line.endsWith('}'))
          .map(line => JSON.parse(line) as { level: number; msg: string })
          .filter(line => line.level >= level),
      ),
    /** Cleans up after a failed test. */
    killAll: () => Promise.all([...alive.keys()].map(kill)),
  }
}
