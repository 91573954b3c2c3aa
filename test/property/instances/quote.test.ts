import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { RentInput } from '../../../src/domain/instances/rent/decide.ts'
import { emptyEnvironment } from '../../../src/domain/launch/env.ts'
import { wholeInstance } from '../../../src/services/instances/source.ts'
import { unlimitedAdmission } from '../../support/billing/admission.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 80)

let database: TestDatabase
let gateway: Gateway
let rich: Actor
let poor: Actor
let machines = 0

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, now: manualClock().now, admission: unlimitedAdmission })
  rich = await gateway.newActor()
  poor = await gateway.newActor()
  await gateway.sql(creditSql(0n, `id = ${poor.accountId}`))
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** A machine of two GPUs with a running bid on one of them, and its offers. */
async function aMarket(): Promise<{ machineId: number; free: bigint; contested: bigint; taken: bigint }> {
  await listMachines(gateway.operations, [{ machine: { numGpus: 2, diskMb: 200_000, lastPort: 20_003 } }])
  machines = Number((await gateway.sql('SELECT max(id) AS id FROM machines'))[0]?.['id'])
  const offerOn = async (firstGpu: number) => {
    const [row] = await gateway.sql(
      'SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND num_gpus = 1 AND withdrawn_at IS NULL',
      [machines, firstGpu],
    )
    return BigInt(row?.['id'] as string)
  }
  const taken = await offerOn(0)
  await gateway.rent(rich, taken, { terms: { interruptible: true, bidNanos: 300_000_000n } })
  return { machineId: machines, free: await offerOn(1), contested: await offerOn(0), taken }
}

/** Mostly the valid value, so that a case seldom has more than one or two faults. */
const mostly = <Value>(sound: Value, ...others: Value[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(sound) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

const rentCases = fc.record({
  offer: fc.constantFrom('free', 'contested', 'taken', 'none', 'free', 'contested'),
  pays: mostly(true, false),
  bidNanos: fc.constantFrom(null, null, 1n, 100_000_000n, 250_000_000n, 300_000_000n, 301_000_000n, 10n ** 12n),
  maxPriceNanos: mostly(undefined, 1n, 10n ** 11n),
  image: mostly('ubuntu', ''),
  vm: mostly(false, true),
  diskGb: mostly(8, 7, 150, 1_000),
  ports: mostly(1, 0, 3, 6),
  volume: mostly(undefined, 1n, 999n),
  newGb: mostly(undefined, 0, 10, 100),
  template: mostly<RentInput['template']>(undefined, { hashId: 'f'.repeat(32) }, { id: 999n }, { name: 'none' }),
  failIfUnavailable: fc.boolean(),
})
type RentCase = typeof rentCases extends fc.Arbitrary<infer Value> ? Value : never

const sound: RentCase = {
  ...{ offer: 'free', pays: true, bidNanos: null, maxPriceNanos: undefined, image: 'ubuntu', vm: false, diskGb: 8 },
  ...{ ports: 1, volume: undefined, newGb: undefined, template: undefined, failIfUnavailable: false },
}
/** Cases that rent. Of the random ones, so few may that the test would prove little. */
const renting: RentCase[] = [
  sound,
  { ...sound, bidNanos: 250_000_000n },
  { ...sound, newGb: 10 },
  { ...sound, offer: 'contested' },
  { ...sound, offer: 'contested', bidNanos: 301_000_000n },
]

function rentInputOf(market: Awaited<ReturnType<typeof aMarket>>, rentCase: RentCase): RentInput {
  const offerId = rentCase.offer === 'none' ? 987_654n : market[rentCase.offer as 'free' | 'contested' | 'taken']
  const { bidNanos, maxPriceNanos, image, vm, diskGb, volume, newGb, template, failIfUnavailable } = rentCase
  const ports = Array.from({ length: rentCase.ports }, (_, index) => {
    return { hostPort: 80 + index, containerPort: 80 + index, protocol: 'tcp' as const }
  })
  const volumes = volume === undefined ? [] : [{ volumeId: volume, mountPath: '/data' }]
  const newVolumes = newGb === undefined ? [] : [{ name: 'new', sizeGb: newGb, mountPath: '/new' }]
  const launch = { image, vm, diskGb, environment: { ...emptyEnvironment(), ports, volumes }, newVolumes }
  const terms =
    bidNanos === null
      ? ({ interruptible: false, maxPriceNanos } as const)
      : ({ interruptible: true, bidNanos } as const)
  return { offerId, terms, launch, template, failIfUnavailable }
}

it(
  'predicts the first blocker, the price and the wait of a rental',
  async () => {
    let rented = 0
    const property = fc.asyncProperty(rentCases, async given => {
      const input = rentInputOf(await aMarket(), given)
      const actor = given.pays ? rich : poor
      const { services } = gateway
      const quote = await services.instances.quote(actor, input)
      const outcome = await services.instances.rent(actor, input, wholeInstance).catch((error: unknown) => error)
      if (outcome instanceof DomainError) {
        expect(quote.blockers[0]).toMatchObject({ code: outcome.code, message: outcome.message })
        return
      }
      rented += 1
      expect(quote.blockers).toEqual([])
      const { instance, warnings } = outcome as Awaited<ReturnType<typeof services.instances.rent>>
      expect(warnings).toEqual(quote.warnings)
      expect([quote.gpuPriceNanos, quote.diskNanos]).toEqual([instance.gpuPriceNanos, instance.diskNanos])
      expect(quote.waits).toBe(!instance.holdsGpus)
    })
    await fc.assert(property, { seed, numRuns, endOnFailure: true, examples: renting.map(one => [one]) })
    expect(rented).toBeGreaterThanOrEqual(renting.length)
  },
  1_000 * numRuns,
)
