import fc from 'fast-check'
import { expect } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { emptyEnvironment } from '../../../src/domain/launch/env.ts'
import { unboundedSql } from '../accounts/unbounded.ts'
import { manualClock } from '../clock.ts'
import { createDatabase } from '../database/database.ts'
import { listMachines } from '../factories.ts'
import { type Gateway, openGateway } from '../gateways.ts'
import { expectConverged, expectEverythingFree, expectInvariants } from './rental-invariants.ts'

/** A command of a renter. A pick is taken modulo the number of choices. */
type Command =
  | { kind: 'rent'; pick: number; bidNanos: bigint | undefined; stopped: boolean; ports: number; diskGb: number }
  | { kind: 'start' | 'stop' | 'destroy'; picks: number[] }
  | { kind: 'exit' | 'swap' | 'flip' | 'reboot' | 'recycle'; pick: number }
  | { kind: 'bid'; pick: number; bidNanos: bigint }
  | { kind: 'reconcile' }
/** Commands that run concurrently, alternating between two gateways. Then the clock moves, and everything may converge. */
type Turn = { commands: Command[]; advanceMs: number; isConverging: boolean }

const bids = fc.integer({ min: 190, max: 500 }).map(milli => BigInt(milli) * 1_000_000n)
const picks = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 3 })
const arbitraryCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('rent' as const),
      pick: fc.nat(1_000),
      bidNanos: fc.option(bids, { nil: undefined }),
      stopped: fc.nat(5).map(number => number === 0),
      ports: fc.nat(3),
      diskGb: fc.constantFrom(8, 8, 20, 100.001),
    }),
  },
  { weight: 4, arbitrary: fc.constant<Command>({ kind: 'reconcile' }) },
  { weight: 2, arbitrary: picks.map(picks => ({ kind: 'start' as const, picks })) },
  { weight: 2, arbitrary: picks.map(picks => ({ kind: 'stop' as const, picks })) },
  { weight: 2, arbitrary: picks.map(picks => ({ kind: 'destroy' as const, picks })) },
  { weight: 1, arbitrary: fc.nat(1_000).map(pick => ({ kind: 'exit' as const, pick })) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('reboot' as const, 'recycle' as const), pick: fc.nat(1_000) }),
  },
  { weight: 3, arbitrary: fc.nat(1_000).map(pick => ({ kind: 'swap' as const, pick })) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('bid' as const), pick: fc.nat(1_000), bidNanos: bids }) },
  { weight: 2, arbitrary: fc.nat(1_000).map(pick => ({ kind: 'flip' as const, pick })) },
)

const arbitraryTurn: fc.Arbitrary<Turn> = fc.record({
  commands: fc.array(arbitraryCommand, { minLength: 1, maxLength: 6 }),
  advanceMs: fc.constantFrom(0, 0, 1_000, 3_000, 30_000),
  isConverging: fc.nat(4).map(number => number === 0),
})

/** Turns with about `commandCount` commands in total. */
export function histories(commandCount: number): fc.Arbitrary<Turn[]> {
  const turns = Math.ceil(commandCount / 3.5)
  return fc.array(arbitraryTurn, { minLength: turns, maxLength: turns, size: 'max' })
}

export type Scenario = Awaited<ReturnType<typeof openScenario>>

/** Two gateways on one database, and a renter. */
export async function openScenario() {
  const clock = manualClock()
  const database = await createDatabase()
  const gateways = [0, 1].map(() => openGateway({ url: database.url, now: clock.now }))
  const [first] = gateways as [Gateway, Gateway]
  const actor = await first.newActor()
  await first.sql(unboundedSql(actor.accountId))
  let machineId = 0

  return {
    gateways,
    /** Runs the turns on a new machine, and checks the invariants after each. */
    async run(turns: Turn[]): Promise<void> {
      await listMachines(first.operations, [{ machine: { numGpus: 8 } }])
      machineId += 1
      for (const { commands, advanceMs, isConverging } of turns) {
        const choices = await loadChoices(first, machineId)
        const doing = commands.map((command, index) => perform(gateways[index % 2] as Gateway, actor, command, choices))
        for (const result of await Promise.allSettled(doing)) {
          if (result.status === 'rejected') throw result.reason
        }
        await expectInvariants(first, machineId, clock.now())
        clock.advance(advanceMs)
        if (isConverging) await converge()
        await expectInvariants(first, machineId, clock.now())
      }
      await converge()
      await destroyAll()
    },
    async close() {
      for (const gateway of gateways) await gateway.close()
      await database.drop()
    },
  }

  async function converge(): Promise<void> {
    for (let round = 0; round < 8; round += 1) {
      await Promise.all(gateways.map(gateway => gateway.idle()))
      clock.advance(31_000)
    }
    await first.idle()
    await expectConverged(first, machineId)
  }

  async function destroyAll(): Promise<void> {
    const { instances } = await loadChoices(first, machineId)
    for (let from = 0; from < instances.length; from += 64) {
      await first.services.instances.destroy(actor, { ids: instances.slice(from, from + 64) })
    }
    await converge()
    await expectEverythingFree(first, machineId)
    for (const { lines } of gateways) expect(lines.filter(({ level }) => (level as number) >= 40)).toEqual([])
  }
}

type Choices = { offers: bigint[]; instances: bigint[] }

async function loadChoices(gateway: Gateway, machineId: number): Promise<Choices> {
  const idsOf = async (text: string) => (await gateway.sql(text, [machineId])).map(({ id }) => BigInt(id as string))
  return {
    offers: await idsOf('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL ORDER BY id'),
    instances: await idsOf('SELECT id FROM instances WHERE machine_id = $1 AND removed_at IS NULL ORDER BY id'),
  }
}

/** Expected refusals. Any other error fails the test. */
const refusals = ['OFFER_UNAVAILABLE', 'BID_TOO_LOW', 'INVALID_INPUT', 'INVALID_STATE', 'NOT_FOUND']

async function perform(gateway: Gateway, actor: Actor, command: Command, choices: Choices): Promise<void> {
  await attempt(gateway, actor, command, choices).catch((error: unknown) => {
    if (!(error instanceof DomainError && refusals.includes(error.code))) throw error
  })
}

async function attempt(
  gateway: Gateway,
  actor: Actor,
  command: Command,
  { offers, instances }: Choices,
): Promise<unknown> {
  const pickFrom = (list: bigint[], pick: number) => (list.length > 0 ? [list[pick % list.length] as bigint] : [])
  switch (command.kind) {
    case 'rent': {
      const [offer = 0n] = pickFrom(offers, command.pick)
      const { bidNanos, ports, diskGb, stopped } = command
      const environment = { ...emptyEnvironment(), ports: portsOf(ports) }
      const launch = { diskGb, environment, targetState: stopped ? ('stopped' as const) : ('running' as const) }
      const terms = bidNanos === undefined ? undefined : { interruptible: true as const, bidNanos }
      return await gateway.rent(actor, offer, { launch, ...(terms && { terms }) })
    }
    case 'reconcile':
      return await gateway.idle()
    case 'swap':
      return await swap(gateway, actor, pickFrom(instances, command.pick))
    case 'reboot':
    case 'recycle':
      return await gateway.services.instances[command.kind](actor, pickFrom(instances, command.pick)[0] ?? 0n)
    case 'bid':
      return await gateway.services.instances.updateBid(
        actor,
        pickFrom(instances, command.pick)[0] ?? 0n,
        command.bidNanos,
      )
    case 'flip':
      return await flip(gateway, actor, pickFrom(instances, command.pick))
    case 'exit': {
      const [id = 0n] = pickFrom(instances, command.pick)
      const isUp = 'up_at IS NOT NULL AND down_at IS NULL'
      return await gateway.sql(`UPDATE simulated_containers SET exit_code = 1 WHERE instance_id = $1 AND ${isUp}`, [id])
    }
    default: {
      const ids = command.picks.flatMap(pick => pickFrom(instances, pick))
      if (ids.length === 0) return
      if (command.kind === 'destroy') return await gateway.services.instances.destroy(actor, { ids })
      const targetState = command.kind === 'start' ? 'running' : 'stopped'
      return await gateway.services.instances.update(actor, { ids }, { targetState })
    }
  }
}

/** Stops an instance and starts rivals whose containers are ready on its GPUs. At most one container may use a GPU. */
async function swap(gateway: Gateway, actor: Actor, [id = 0n]: bigint[]): Promise<void> {
  const rows = await gateway.sql(
    `SELECT b.id FROM instances a JOIN instances b ON b.machine_id = a.machine_id AND b.id <> a.id
      AND a.first_gpu < b.first_gpu + b.num_gpus AND b.first_gpu < a.first_gpu + a.num_gpus
      JOIN simulated_containers c ON c.instance_id = b.id WHERE a.id = $1 AND b.status IN ('stopped', 'scheduling')`,
    [id],
  )
  const rivals = rows.map(row => BigInt(row['id'] as string)).slice(0, 3)
  if (rivals.length === 0) return
  await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
  await gateway.services.instances.update(actor, { ids: rivals }, { targetState: 'running' })
  await gateway.idle()
}

/** Raises a bid above all other bids and lowers it again, twice, while the machines follow. */
async function flip(gateway: Gateway, actor: Actor, [id = 0n]: bigint[]): Promise<void> {
  const bid = async (nanos: bigint) => {
    const { numGpus } = await gateway.services.instances.updateBid(actor, id, nanos)
    return BigInt(numGpus)
  }
  const gpus = await bid(100_000_000_000n)
  for (const next of [200_000_000n * gpus, 101_000_000_000n, 200_000_001n * gpus]) {
    await gateway.idle()
    await bid(next)
  }
}

function portsOf(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const port = 8_000 + index
    return { hostPort: port, containerPort: port, protocol: 'tcp' as const }
  })
}
