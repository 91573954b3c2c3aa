import { describe, expect, it } from 'vitest'
import { foresee } from '../../../src/domain/instances/rent/quote.ts'
import { decideRent, type RentFacts, type RentWish } from '../../../src/domain/instances/rent/rent.ts'
import type { LaunchWish } from '../../../src/domain/launch/launch.ts'
import { aClaim, aListedMachine } from '../../support/instances/claims.ts'

const at = new Date(0)
const offer = {
  ...{ id: 1n, computeNanos: 400_000_000n, minBidNanos: 200_000_000n, rentable: true },
  ...{ firstGpu: 0, numGpus: 1 },
}
const facts: RentFacts = {
  ...{ template: undefined, variables: [], sshKeys: 1, volumes: [], availableNanos: 1n },
  listed: { offer, machine: aListedMachine() },
  hasProxy: true,
}
const wish: RentWish = {
  ...{ offerId: 1n, terms: { interruptible: true, bidNanos: 300_000_000n } },
  ...{ launch: { image: 'ubuntu' }, cancelUnavailable: true },
}

/** What is foreseen of a bid for GPUs that another has, or wants. */
function foreseen(
  launch: Partial<LaunchWish>,
  { cancelUnavailable = true, listed = facts.listed, computeNanos = 300_000_000n } = {},
) {
  const asked = { ...wish, launch: { ...wish.launch, ...launch }, cancelUnavailable }
  const known = { ...facts, listed }
  const claims = [aClaim({ interruptible: true, computeNanos, holds: true })]
  const { waits, reasons } = foresee(decideRent(asked, known, at), asked, known, claims, at)
  return { waits, codes: reasons.map(({ code }) => code) }
}

describe('a rental that is asked about', () => {
  it('waits for GPUs that another has for as much, and is refused where it must not', () => {
    expect(foreseen({})).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
    expect(foreseen({}, { cancelUnavailable: false })).toEqual({ waits: true, codes: [] })
    expect(foreseen({}, { computeNanos: 299_999_999n })).toEqual({ waits: false, codes: [] })
  })

  it('waits for nothing where it is to be stopped', () => {
    expect(foreseen({ targetState: 'stopped' })).toEqual({ waits: false, codes: [] })
  })

  it('is said to be unavailable once', () => {
    const gone = { offer: { ...offer, rentable: false }, machine: aListedMachine() }
    expect(foreseen({}, { listed: gone })).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
  })
})
