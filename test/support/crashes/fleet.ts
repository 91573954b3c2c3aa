// Gateway processes on one database, of which one at a time is killed.

import { type Gateway, startGateway, stop } from '../processes/process.ts'
import type { Chance } from '../seeded-random.ts'

export type CrashingFleet = Awaited<ReturnType<typeof startCrashingFleet>>

type Env = Record<string, string>

/** `own` are the settings that only one of the gateways has, and who is started in its place. */
export async function startCrashingFleet(env: Env, size: number, own: (place: number) => Env = () => ({})) {
  const all: Gateway[] = []
  const living = new Map<Gateway, number>()
  /** Of those that nobody killed. */
  const deaths: string[] = []
  const start = async (place: number) => {
    const gateway = await startGateway({ ...env, ...own(place) })
    all.push(gateway)
    void gateway.exit.then(code => living.has(gateway) && deaths.push(`${code}: ${gateway.errors()}`))
    return gateway
  }
  const startAll = async () => {
    const gateways = await Promise.all(Array.from({ length: size }, (_, place) => start(place)))
    for (const [place, gateway] of gateways.entries()) living.set(gateway, place)
  }
  await startAll()

  async function kill(gateway: Gateway): Promise<void> {
    living.delete(gateway)
    gateway.child.kill('SIGKILL')
    await gateway.exit
  }

  return {
    /** One that lives, as far as anybody knows. */
    async pick(chance: Chance): Promise<string> {
      if (deaths.length > 0) throw new Error(`A gateway died by itself: ${deaths[0]}`)
      const gateway = chance.pick([...living.keys()])
      if (!gateway) throw new Error('No gateway lives.')
      return gateway.url
    },
    /** Kills one, and starts another in its place. */
    async replace(chance: Chance): Promise<void> {
      const [gateway, place] = chance.pick([...living]) as [Gateway, number]
      await kill(gateway)
      living.set(await start(place), place)
    },
    /** Kills all at once; nothing is done until they are started again. */
    async replaceAll(meanwhile: () => Promise<void>): Promise<void> {
      await Promise.all([...living.keys()].map(kill))
      await meanwhile()
      await startAll()
    },
    /** Ends all as supervisors do; their exit codes. */
    async stop(): Promise<(number | null)[]> {
      const gateways = [...living.keys()]
      living.clear()
      return await Promise.all(gateways.map(stop))
    },
    /** What all that ever lived have logged from this level on. */
    logged: (level: number) =>
      all.flatMap(gateway =>
        gateway
          .errors()
          .split('\n')
          .filter(line => line.startsWith('{') && line.endsWith('}'))
          .map(line => JSON.parse(line) as { level: number; msg: string })
          .filter(line => line.level >= level),
      ),
    /** For a test that failed amid it. */
    killAll: () => Promise.all([...living.keys()].map(kill)),
  }
}
