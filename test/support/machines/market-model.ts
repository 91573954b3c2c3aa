import fc from 'fast-check'
import { type Block, blocksOf } from '../../../src/domain/machines/machines.ts'
import type { Claim } from '../../../src/domain/machines/market.ts'
import { expectedGrants, gpusOf, sharesGpu } from '../instances/claims.ts'

/** An action on one machine. `pick` selects a rental, modulo their number. */
export type MarketAction =
  | { kind: 'rent'; block: Block; bidNanos: bigint | undefined; stopped: boolean }
  | { kind: 'start' | 'stop' | 'destroy' | 'end'; pick: number }
  | { kind: 'bid'; pick: number; gpuNanos: bigint; extraNanos: bigint }
  | { kind: 'wait' }

// Most bids tie. Bids on 3 or 7 GPUs tie per GPU only if nothing is rounded.
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

/** Machines of every size. Most are small, so that most claims overlap. */
export const gpuCounts = fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12)

/** A machine and a sequence of actions on it. */
export function marketHistories(maxActions: number) {
  return gpuCounts.chain(numGpus =>
    fc.record({
      numGpus: fc.constant(numGpus),
      actions: fc.array(marketActions(numGpus), { minLength: 5, maxLength: maxActions, size: 'max' }),
    }),
  )
}

type Contender = Claim & { wants: boolean; ended: boolean; destroyed: boolean }

/** A model of a machine. It derives grants from the history alone, by the rules. */
export function aMarketModel(numGpus: number) {
  const contenders: Contender[] = []
  let time = 0

  const wanting = () => contenders.filter(({ wants, ended, destroyed }) => wants && !ended && !destroyed)
  function updateGrants(): void {
    const granted = expectedGrants(wanting())
    for (const contender of contenders) contender.holdsGpus = granted.includes(contender)
  }

  return {
    /** The rental that an action applies to, if there is one. */
    pick: (number: number): Contender | undefined => contenders[number % Math.max(contenders.length, 1)],
    /** Whether a block is on the market. */
    isRentable: (block: Block) =>
      contenders.every(other => !other.holdsGpus || other.interruptible || !sharesGpu(other, block)),
    claims: wanting,
    /** The holder of each GPU. */
    holders(): (bigint | null)[] {
      return gpusOf({ firstGpu: 0, numGpus }).map(gpu => {
        const holder = contenders.find(contender => contender.holdsGpus && gpusOf(contender).includes(gpu))
        return holder?.instanceId ?? null
      })
    },
    rent(instanceId: bigint, { block, bidNanos, stopped }: Extract<MarketAction, { kind: 'rent' }>): void {
      const price = { interruptible: bidNanos !== undefined, gpuPriceNanos: bidNanos ?? 400_000_000n }
      const state = { wants: !stopped, ended: false, destroyed: false, holdsGpus: false }
      contenders.push({ instanceId, ...block, ...price, ...state, claimedAt: new Date(time) })
      updateGrants()
    },
    /** Applies any action but a rental. An action that the rules refuse changes nothing. */
    apply(action: Exclude<MarketAction, { kind: 'rent' }>): void {
      if (action.kind === 'wait') time += 1_000
      const contender = action.kind === 'wait' ? undefined : this.pick(action.pick)
      if (contender && !contender.destroyed) applyAction(contender, action, new Date(time))
      updateGrants()
    },
  }
}

function applyAction(contender: Contender, action: Exclude<MarketAction, { kind: 'rent' }>, now: Date): void {
  switch (action.kind) {
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
      const gpuPriceNanos = bidOf(action, contender)
      if (contender.ended || !contender.interruptible || gpuPriceNanos === contender.gpuPriceNanos) return
      Object.assign(contender, { gpuPriceNanos, claimedAt: now })
    }
  }
}

export function bidOf({ gpuNanos, extraNanos }: Extract<MarketAction, { kind: 'bid' }>, { numGpus }: Block): bigint {
  return gpuNanos * BigInt(numGpus) + extraNanos
}
