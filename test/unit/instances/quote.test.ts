import { describe, expect, it } from 'vitest'
import { decideRent, type RentFacts, type RentInput } from '../../../src/domain/instances/rent/decide.ts'
import { forecastRental } from '../../../src/domain/instances/rent/quote.ts'
import type { LaunchInput } from '../../../src/domain/launch/launch.ts'
import { aClaim, aListedMachine } from '../../support/instances/claims.ts'

const at = new Date(0)
const offer = {
  ...{ id: 1n, gpuPriceNanos: 400_000_000n, rentable: true },
  ...{ firstGpu: 0, numGpus: 1 },
}
const facts: RentFacts = {
  ...{ template: undefined, secretVariables: [], sshKeyCount: 1, volumes: [], creditNanos: 1n },
  target: { offer, machine: aListedMachine() },
  hasProxy: true,
}
const input: RentInput = {
  ...{ offerId: 1n, terms: { interruptible: true, bidNanos: 300_000_000n } },
  ...{ launch: { image: 'ubuntu' }, failIfUnavailable: true },
}

/** Forecasts a bid for GPUs that another instance holds. */
function forecast(
  launch: Partial<LaunchInput>,
  { failIfUnavailable = true, target = facts.target, gpuPriceNanos = 300_000_000n } = {},
) {
  const request = { ...input, launch: { ...input.launch, ...launch }, failIfUnavailable }
  const known = { ...facts, target }
  const claims = [aClaim({ interruptible: true, gpuPriceNanos, holdsGpus: true })]
  const { waits, blockers } = forecastRental(decideRent(request, known, at), request, known, claims, at)
  return { waits, codes: blockers.map(({ code }) => code) }
}

describe('a quoted rental', () => {
  it('waits for GPUs that an equal bid holds, and is refused if it must not wait', () => {
    expect(forecast({})).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
    expect(forecast({}, { failIfUnavailable: false })).toEqual({ waits: true, codes: [] })
    expect(forecast({}, { gpuPriceNanos: 299_999_999n })).toEqual({ waits: false, codes: [] })
  })

  it('does not wait when its target state is stopped', () => {
    expect(forecast({ targetState: 'stopped' })).toEqual({ waits: false, codes: [] })
  })

  it('has only one OFFER_UNAVAILABLE blocker', () => {
    const gone = { offer: { ...offer, rentable: false }, machine: aListedMachine() }
    expect(forecast({}, { target: gone })).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
  })
})
