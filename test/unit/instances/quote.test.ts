import { describe, expect, it } from 'vitest'
import { decideRent, type RentFacts, type RentInput } from '../../../src/domain/instances/rent/decide.ts'
import { forecastRental } from '../../../src/domain/instances/rent/quote.ts'
import type { LaunchInput } from '../../../src/domain/launch/launch.ts'
import { aClaim, aListedMachine } from '../../support/instances/claims.ts'

const at = new Date(0)
const offer = {
  ...{ id: 1n, computeNanos: 400_000_000n, minBidNanos: 200_000_000n, rentable: true },
  ...{ firstGpu: 0, numGpus: 1 },
}
const facts: RentFacts = {
  ...{ template: undefined, secretVariables: [], sshKeyCount: 1, volumes: [], availableNanos: 1n },
  target: { offer, machine: aListedMachine() },
  hasProxy: true,
}
const input: RentInput = {
  ...{ offerId: 1n, terms: { interruptible: true, bidNanos: 300_000_000n } },
  ...{ launch: { image: 'ubuntu' }, cancelUnavailable: true },
}

/** What is foreseen of a bid for GPUs that another has, or wants. */
function forecast(
  launch: Partial<LaunchInput>,
  { cancelUnavailable = true, listed = facts.target, computeNanos = 300_000_000n } = {},
) {
  const asked = { ...input, launch: { ...input.launch, ...launch }, cancelUnavailable }
  const known = { ...facts, listed }
  const claims = [aClaim({ interruptible: true, computeNanos, hasGpus: true })]
  const { waits, blockers } = forecastRental(decideRent(asked, known, at), asked, known, claims, at)
  return { waits, codes: blockers.map(({ code }) => code) }
}

describe('a rental that is asked about', () => {
  it('waits for GPUs that another has for as much, and is refused where it must not', () => {
    expect(forecast({})).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
    expect(forecast({}, { cancelUnavailable: false })).toEqual({ waits: true, codes: [] })
    expect(forecast({}, { computeNanos: 299_999_999n })).toEqual({ waits: false, codes: [] })
  })

  it('waits for nothing where it is to be stopped', () => {
    expect(forecast({ targetState: 'stopped' })).toEqual({ waits: false, codes: [] })
  })

  it('is said to be unavailable once', () => {
    const gone = { offer: { ...offer, rentable: false }, machine: aListedMachine() }
    expect(forecast({}, { listed: gone })).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
  })
})
