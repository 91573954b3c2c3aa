// Gateway processes on one database, of which one at a time is killed.

import { type GatewayProcess, startGateway, stopProgram } from '../processes/programs.ts'
import type { SeededRandom } from '../seeded-random.ts'

export type GatewayFleet = Awaited<ReturnType<typeof startGatewayFleet>>

type Env = Record<string, string>

/** `own` are the settings that only one of the gateways has, and who is started in its place. */
export async function startGatewayFleet(env: Env, size: number, envOf: (place: number) => Env = () => ({})) {
  const everStarted: GatewayProcess[] = []
  const alive = new Map<GatewayProcess, number>()
  /** Of those that nobody killed. */
  const unexpectedExits: string[] = []
  const start = async (place: number) => {
    const gateway = await startGateway({ ...env, ...envOf(place) })
    everStarted.push(gateway)
    void gateway.exit.then(code => alive.has(gateway) && unexpectedExits.push(`${code}: ${gateway.errors()}`))
    return gateway
  }
  const startAll = async () => {
    const gateways = await Promise.all(Array.from({ length: size }, (_, place) => start(place)))
    for (const [place, gateway] of gateways.entries()) alive.set(gateway, place)
  }
  await startAll()

  async function kill(gateway: GatewayProcess): Promise<void> {
    alive.delete(gateway)
    gateway.child.kill('SIGKILL')
    await gateway.exit
  }

  return {
    /** One that lives, as far as anybody knows. */
    async pickUrl(random: SeededRandom): Promise<string> {
      if (unexpectedExits.length > 0) throw new Error(`A gateway died by itself: ${unexpectedExits[0]}`)
      const gateway = random.pick([...alive.keys()])
      if (!gateway) throw new Error('No gateway lives.')
      return gateway.url
    },
    /** Kills one, and starts another in its place. */
    async killAndReplace(random: SeededRandom): Promise<void> {
      const [gateway, place] = random.pick([...alive]) as [GatewayProcess, number]
      await kill(gateway)
      alive.set(await start(place), place)
    },
    /** Kills all at once; nothing is done until they are started again. */
    async killAndReplaceAll(meanwhile: () => Promise<void>): Promise<void> {
      await Promise.all([...alive.keys()].map(kill))
      await meanwhile()
      await startAll()
    },
    /** Ends all as supervisors do; their exit codes. */
    async stop(): Promise<(number | null)[]> {
      const gateways = [...alive.keys()]
      alive.clear()
      return await Promise.all(gateways.map(stopProgram))
    },
    /** What all that ever lived have logged from this level on. */
    logLinesFrom: (level: number) =>
      everStarted.flatMap(gateway =>
        gateway
          .errors()
          .split('\n')
          .filter(line => line.startsWith('{') && line.endsWith('}'))
          .map(line => JSON.parse(line) as { level: number; msg: string })
          .filter(line => line.level >= level),
      ),
    /** For a test that failed amid it. */
    killAll: () => Promise.all([...alive.keys()].map(kill)),
  }
}
