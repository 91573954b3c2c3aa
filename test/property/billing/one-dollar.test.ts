// The most that any sequence of commands can make an account owe is what its quotes said: a search of random sequences
// against the rules.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { partsPerNano } from '../../../src/domain/billing/balance.ts'
import { defaultAdmission } from '../../support/billing/admission.ts'
import { createSpendingModel, type SpendingModel } from '../../support/billing/spending-model.ts'

// FC_SEED repeats a run. FC_RUNS sets its length: 10000 before a release.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 2_000)
const [second, hour, day] = [1_000, 3_600_000, 86_400_000]
const start = Date.parse('2026-11-21T12:00:00.000Z')

type Figures = ReturnType<SpendingModel['figures']>

type Step =
  | { do: 'rent'; price: bigint; disk: bigint; isVolume: boolean; stopped: boolean }
  | { do: 'start' | 'stop' | 'destroy' | 'run' | 'interrupt' | 'lose'; pick: number; times: number }
  | { do: 'bid'; pick: number; price: bigint }
  | { do: 'grant'; nanos: bigint }
  | { do: 'pass'; ms: number; isWorking: boolean }

// From less than a nano-dollar in an hour to the dearest machine, mostly what a dollar can pay for.
const prices = fc.oneof(fc.bigInt(1n, 5n), fc.bigInt(1_000_000n, 600_000_000n), fc.bigInt(1n, 128_000_000_000n))
const disks = fc.oneof(fc.bigInt(1n, 5n), fc.bigInt(100_000n, 20_000_000n), fc.bigInt(1n, 1_000_000_000n))
const pick = fc.nat(20)
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('rent' as const),
      price: prices,
      disk: disks,
      isVolume: fc.boolean(),
      stopped: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'run' as const,
        'run' as const,
        'run' as const,
        'start' as const,
        'start' as const,
        'stop' as const,
        'interrupt' as const,
        'destroy' as const,
        'lose' as const,
      ),
      pick,
      // Commands are repeated, too: after a lost answer, or by a gateway that recovers.
      times: fc.constantFrom(1, 1, 2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('bid' as const), pick, price: prices }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('grant' as const), nanos: fc.bigInt(1n, 1_000_000_000n) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(fc.nat(5), fc.nat(60 * second), fc.nat(3 * hour), fc.nat(4 * day)),
      isWorking: fc.constantFrom(true, true, true, false),
    }),
  },
)

function perform(model: SpendingModel, step: Step): void {
  switch (step.do) {
    case 'rent':
      model.rent(step.price, step.disk, step)
      break
    case 'grant':
      model.grant(step.nanos)
      break
    case 'pass':
      model.pass(step.ms, step.isWorking)
      break
    default: {
      const all = model.living()
      const one = all[step.pick % all.length]
      if (!one) return
      if (step.do === 'bid') model.bid(one, step.price)
      else for (let time = 0; time < step.times; time += 1) model[step.do](one)
    }
  }
}

const print = (value: unknown) =>
  JSON.stringify(value, (_name, part) => (typeof part === 'bigint' ? String(part) : part))

/** `lateMs`: how long no gateway has worked. */
function lawsOf({ creditNanos, grantedNanos, owedNanos, promisedParts, mostDiskNanos }: Figures, lateMs: number) {
  const graceMs = BigInt(defaultAdmission.debtGraceMs + lateMs)
  return {
    'owes what its quotes promised for the time so far': owedNanos * partsPerNano <= promisedParts,
    'owes beyond its credit for disks alone, and for no longer than the grace period':
      -creditNanos * partsPerNano <= mostDiskNanos * graceMs,
    // Admission has held back what disks cost in the grace period.
    'owes no more beyond its credit than it was ever given': lateMs > 0 || -creditNanos <= grantedNanos,
  }
}

it(`owes at most what its quotes said (seed ${seed})`, () => {
  const seen = { ended: 0, inDebt: 0, rented: 0 }
  const property = fc.property(fc.array(steps, { minLength: 10, maxLength: 60, size: 'max' }), sequence => {
    const model = createSpendingModel(1_000_000_000n, start)
    let lateMs = 0
    for (const step of sequence) {
      perform(model, step)
      if (step.do === 'pass' && !step.isWorking) lateMs += step.ms
      // What ended before a command is done before it.
      model.work()
      const figures = model.figures()
      for (const [law, holds] of Object.entries(lawsOf(figures, lateMs)))
        if (!holds) expect.fail(`${law}, after ${print(step)}: ${print(figures)}`)
      const { creditNanos } = figures
      seen.rented += Number(model.living().length > 0)
      seen.inDebt += Number(creditNanos < 0n)
      seen.ended += Number(creditNanos <= 0n)
    }
  })
  fc.assert(property, { seed, numRuns })
  // The search has been where it matters.
  expect(
    Object.values(seen).every(count => count > numRuns / 10),
    JSON.stringify(seen),
  ).toBe(true)
}, 600_000)
