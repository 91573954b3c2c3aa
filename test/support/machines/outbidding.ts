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

/** An account with a gateway of its own, and its rentals per machine, in the order of its bids. */
type Side = { gateway: Gateway; actor: Actor; rentals: { id: bigint; numGpus: number }[][] }

/**
 * Blocks of machines with eight GPUs. When a rental of the first account outbids the large rental of the second account,
 * the other rental of the first account is granted, too. So a change of one bid moves instances with lower and with
 * higher ids.
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
 * Lets two accounts outbid each other on two machines at once, in opposite order. At the same time, bulk commands
 * change all of their instances, and both gateways reconcile.
 */
export async function runOutbidding({ rounds, checkEvery }: { rounds: number; checkEvery: number }): Promise<void> {
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
      if (round % checkEvery !== 0) continue
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
  const [row] = await first.sql("SELECT count(*)::int AS count FROM events WHERE kind = 'INSTANCE_OUTBID'")
  expect(row?.['count'], 'number of outbid events').toBeGreaterThan(rounds)
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
  // The higher bidder changes between rounds and between blocks.
  const milli = (place: number) => BigInt(200 + ((round * (7 + 4 * index) + 13 * place) % 50))
  const bids = all.map(({ id, numGpus }, place) =>
    instances.updateBid(actor, id, milli(place) * 1_000_000n * BigInt(numGpus)),
  )
  const commands = [
    instances.update(actor, { ids }, { label: `round ${round}` }),
    instances.update(actor, { ids }, { targetState: round % 10 === 5 ? 'stopped' : 'running' }),
  ]
  for (const result of await Promise.allSettled([...bids, ...commands])) {
    // Refusals are expected; other errors are not.
    if (result.status === 'rejected' && !(result.reason instanceof DomainError)) throw result.reason
  }
}
