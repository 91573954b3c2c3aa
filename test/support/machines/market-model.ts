import fc from 'fast-check'
import { type Block, blocksOf } from '../../../src/domain/machines/machines.ts'
import type { Claim } from '../../../src/domain/machines/market.ts'
import { expectedGrants, gpusOf, sharesGpu } from '../instances/claims.ts'

/** What happens to one machine. Picks are taken modulo what there is to pick from. */
export type MarketAction =
  | { kind: 'rent'; block: Block; bidNanos: bigint | undefined; stopped: boolean }
  | { kind: 'start' | 'stop' | 'destroy' | 'end'; pick: number }
  | { kind: 'bid'; pick: number; gpuNanos: bigint; extraNanos: bigint }
  | { kind: 'wait' }

// Most tie; thirds and sevenths of a price are equal per GPU only when they are not rounded.
const gpuNanos = fc.constantFrom(200_000_000n, 333_333_333n, 333_333_333n)
const extraNanos = fc.constantFrom(0n, 0n, 0n, 1n)
const pick = fc.nat(1_000)
const actionOfKind = (kind: 'start' | 'stop' | 'destroy' | 'end') => pick.map(pick => ({ kind, pick }))

function marketActions(numGpus: number): fc.Arbitrary<MarketAction> {
  const rent = fc
    .record({
      block: fc.constantFrom(...blocksOf(numGpus)),
      price: fc.option(fc.record({ gpuNanos, extraNanos }), { nil: undefined, freq: 3 }),
      stopped: fc.nat(3).map(number => number === 0),
    })
    .map(({ block, price, stopped }): MarketAction => {
      const bidNanos = price && price.gpuNanos * BigInt(block.numGpus) + price.extraNanos
      return { kind: 'rent', block, bidNanos, stopped }
    })
  const bid = fc.record({ kind: fc.constant('bid' as const), pick, gpuNanos, extraNanos })
  return fc.oneof<fc.WeightedArbitrary<MarketAction>[]>(
    { weight: 6, arbitrary: rent },
    { weight: 6, arbitrary: bid },
    { weight: 3, arbitrary: actionOfKind('start') },
    { weight: 2, arbitrary: actionOfKind('stop') },
    { weight: 1, arbitrary: actionOfKind('destroy') },
    { weight: 1, arbitrary: actionOfKind('end') },
    { weight: 5, arbitrary: fc.constant<MarketAction>({ kind: 'wait' }) },
  )
}

/** Machines of every size, often so small that everybody is in everybody's way. */
export const gpuCounts = fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12)

/** A machine, and what happens to it one after another. */
export function marketHistories(maxDeeds: number) {
  return gpuCounts.chain(numGpus =>
    fc.record({
      numGpus: fc.constant(numGpus),
      actions: fc.array(marketActions(numGpus), { minLength: 5, maxLength: maxDeeds, size: 'max' }),
    }),
  )
}

type Contender = Claim & { wants: boolean; ended: boolean; destroyed: boolean }

/** What the rules make of a machine: nothing is looked up, everything is known from what happened. */
export function aMarketModel(numGpus: number) {
  const contenders: Contender[] = []
  let time = 0

  const wanting = () => contenders.filter(({ wants, ended, destroyed }) => wants && !ended && !destroyed)
  function updateGrants(): void {
    const granted = expectedGrants(wanting())
    for (const contender of contenders) contender.hasGpus = granted.includes(contender)
  }

  return {
    /** The rental that a deed is about, if there is one. */
    pick: (number: number): Contender | undefined => contenders[number % Math.max(contenders.length, 1)],
    /** Whether a block is on the market. */
    isRentable: (block: Block) =>
      contenders.every(other => !other.hasGpus || other.interruptible || !sharesGpu(other, block)),
    claims: wanting,
    /** Who has each GPU. */
    holders(): (bigint | null)[] {
      return gpusOf({ firstGpu: 0, numGpus }).map(gpu => {
        const holder = contenders.find(contender => contender.hasGpus && gpusOf(contender).includes(gpu))
        return holder?.instanceId ?? null
      })
    },
    rent(instanceId: bigint, { block, bidNanos, stopped }: Extract<MarketAction, { kind: 'rent' }>): void {
      const price = { interruptible: bidNanos !== undefined, computeNanos: bidNanos ?? 400_000_000n }
      const standing = { wants: !stopped, ended: false, destroyed: false, hasGpus: false }
      contenders.push({ instanceId, ...block, ...price, ...standing, claimedAt: new Date(time) })
      updateGrants()
    },
    /** Whatever is not a rental. What the rules refuse changes nothing. */
    apply(deed: Exclude<MarketAction, { kind: 'rent' }>): void {
      if (deed.kind === 'wait') time += 1_000
      const contender = deed.kind === 'wait' ? undefined : this.pick(deed.pick)
      if (contender && !contender.destroyed) applyAction(contender, deed, new Date(time))
      updateGrants()
    },
  }
}

function applyAction(contender: Contender, deed: Exclude<MarketAction, { kind: 'rent' }>, now: Date): void {
  switch (deed.kind) {
    case 'start':
      if (contender.ended || contender.wants) return
      Object.assign(contender, { wants: true, claimedAt: now })
      return
    case 'stop':
      if (!contender.ended) contender.wants = false
      return
    case 'destroy':
      contender.destroyed = true
      return
    case 'end':
      contender.ended = true
      return
    case 'bid': {
      const computeNanos = bidOf(deed, contender)
      if (contender.ended || !contender.interruptible || computeNanos === contender.computeNanos) return
      Object.assign(contender, { computeNanos, claimedAt: now })
    }
  }
}

export function bidOf({ gpuNanos, extraNanos }: Extract<MarketAction, { kind: 'bid' }>, { numGpus }: Block): bigint {
  return gpuNanos * BigInt(numGpus) + extraNanos
}
