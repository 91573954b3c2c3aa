import { expect } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Block } from '../../../src/domain/machines/machines.ts'
import { unboundedSql } from '../accounts/unbounded.ts'
import { manualClock } from '../clock.ts'
import { createDatabase } from '../database/database.ts'
import { expectNoDeadlock } from '../database/deadlocks.ts'
import { listMachines } from '../factories.ts'
import { type Gateway, openGateway } from '../gateways.ts'
import { expectConverged, expectInvariants } from '../instances/rental-invariants.ts'

/** An account at a gateway of its own, with its rentals machine by machine, in the order in which it bids on them. */
type Side = { gateway: Gateway; actor: Actor; rentals: { id: bigint; numGpus: number }[][] }

/**
 * Of machines with eight GPUs. When one of the first account's outbids the large one of the second, its other one is
 * granted too: who changes a bid moves instances before and after that one.
 */
const blocks: [Block[], Block[]] = [
  [
    { firstGpu: 0, numGpus: 4 },
    { firstGpu: 4, numGpus: 4 },
  ],
  [
    { firstGpu: 0, numGpus: 8 },
    { firstGpu: 2, numGpus: 2 },
  ],
]
const machineIds = [1, 2]

/**
 * Two accounts outbid each other on two machines at the same instant, in opposite order, and command all of their
 * instances at once beside it, while both gateways reconcile.
 */
export async function runOutbidding({ rounds, lawsEvery }: { rounds: number; lawsEvery: number }): Promise<void> {
  const clock = manualClock()
  const database = await createDatabase()
  const gateways = [0, 1].map(() => openGateway({ url: database.url, now: clock.now, poolSize: 8 }))
  const [first, second] = gateways as [Gateway, Gateway]
  await listMachines(first.operations, [{ machine: { numGpus: 8 } }, { machine: { numGpus: 8 } }])
  const sides = [await createSide(first, blocks[0]), await createSide(second, blocks[1])]
  sides[1]?.rentals.reverse()

  let done = false
  const reconciling = gateways.map(async gateway => {
    while (!done) await gateway.idle()
  })
  try {
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.all(sides.map((side, index) => play(side, index, round)))
      clock.advance(700)
      if (round % lawsEvery !== 0) continue
      for (const machineId of machineIds) await expectInvariants(first, machineId, clock.now())
    }
  } finally {
    done = true
    await Promise.all(reconciling)
  }

  for (let turn = 0; turn < 8; turn += 1) {
    await Promise.all(gateways.map(gateway => gateway.idle()))
    clock.advance(31_000)
  }
  await first.idle()
  for (const machineId of machineIds) await expectConverged(first, machineId)
  const [row] = await first.sql("SELECT count(*)::int AS count FROM events WHERE type = 'INSTANCE_OUTBID'")
  expect(row?.['count'], 'how often somebody was outbid').toBeGreaterThan(rounds)
  for (const { lines } of gateways) expect(lines.filter(({ level }) => (level as number) >= 40)).toEqual([])
  for (const gateway of gateways) await gateway.close()
  await expectNoDeadlock(database.url)
  await database.drop()
}

async function createSide(gateway: Gateway, wanted: Block[]): Promise<Side> {
  const actor = await gateway.newActor()
  await gateway.sql(unboundedSql(actor.accountId))
  const rent = async (machineId: number, { firstGpu, numGpus }: Block) => {
    const [offer] = await gateway.sql(
      'SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND num_gpus = $3 AND withdrawn_at IS NULL',
      [machineId, firstGpu, numGpus],
    )
    const terms = { interruptible: true as const, bidNanos: 200_000_000n * BigInt(numGpus) }
    const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string), { terms })
    return { id, numGpus }
  }
  const rentals: Side['rentals'] = []
  for (const machineId of machineIds) {
    const rented: { id: bigint; numGpus: number }[] = []
    for (const block of wanted) rented.push(await rent(machineId, block))
    rentals.push(rented)
  }
  return { gateway, actor, rentals }
}

async function play({ gateway, actor, rentals }: Side, index: number, round: number): Promise<void> {
  const { instances } = gateway.services
  const all = rentals.flat()
  const ids = all.map(({ id }) => id)
  // Who is higher changes from round to round, and from block to block.
  const milli = (place: number) => BigInt(200 + ((round * (7 + 4 * index) + 13 * place) % 50))
  const bids = all.map(({ id, numGpus }, place) =>
    instances.changeBid(actor, id, milli(place) * 1_000_000n * BigInt(numGpus)),
  )
  const commands = [
    instances.update(actor, ids, { label: `round ${round}` }),
    instances.update(actor, ids, { targetState: round % 10 === 5 ? 'stopped' : 'running' }),
  ]
  for (const result of await Promise.allSettled([...bids, ...commands])) {
    // What is refused is part of life, anything else is not.
    if (result.status === 'rejected' && !(result.reason instanceof DomainError)) throw result.reason
  }
}
