// What a pass has seen of a container and done to it, as far as its finding must tell.

import type { Observed } from '../domain/instances/containers.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import { endOf } from './finding.ts'
import type { ProviderStep } from './plan.ts'

export function createWitness() {
  let seenAt: Date | null = null
  let endedAt: Date | null | undefined
  // A container that the pass itself has brought down was up until the pass: what becomes of it is not an end of its own.
  let isBroughtDown = false
  let mayHaveStarted = false
  return {
    sees(observed: Observed, askedAt: Date): void {
      if (observed.state === 'unreachable') return
      seenAt = askedAt
      if (!isBroughtDown) endedAt = endOf(observed)
    },
    /** A start that failed may still have started the container. */
    tries(step: ProviderStep): void {
      if (step === 'start') mayHaveStarted = true
      if (step === 'stop' || step === 'remove') isBroughtDown = true
    },
    /** After a start, the GPUs stay in use until the next pass: the container may not be visible at once. */
    complete(finding: Omit<Finding, 'seenAt' | 'endedAt'>): Finding {
      const end = finding.answered && endedAt !== undefined && { endedAt }
      return { ...finding, ...end, seenAt, usesGpus: finding.usesGpus || mayHaveStarted }
    },
  }
}
