// Starts that failed, and not because of the renter's image, login or command. The account does not get the machine again
// by a search for a while. Those that the machine itself is to blame for lower its reliability.

import type { ReasonCode } from '../reasons.ts'
import type { StartFault } from './containers.ts'
import { hasNotRun } from './start-backoff.ts'
import type { InstanceStatus, TargetState } from './states.ts'

/** `rentBestOffer` passes a machine over for this long after a failed start of the account there. */
export const passedOverMs = 24 * 3_600_000

/** The instance before a pass of the reconciler. */
type Before = { targetState: TargetState; status: InstanceStatus; reasonCode: string | null; destroyed: boolean }
/** What the pass found. `fault` is what the machine says. */
type Found = { status: InstanceStatus; ran: boolean; reason: { code: ReasonCode } | undefined; fault?: StartFault }

/** Who is to blame for a start that has just failed; undefined if none has, or if the renter is. */
export function startFaultOf(before: Before, { status, ran, reason, fault }: Found): StartFault | undefined {
  if (before.destroyed || ran || !hasNotRun(before)) return undefined
  if (status === 'offline') return 'machine'
  if (status !== 'exited') return undefined
  return reason?.code === 'START_TIMEOUT' ? slowStartFault(before) : fault
}

/** Who is to blame for a start that takes too long. The image may be too large, but nobody else keeps a container from starting. */
function slowStartFault({ reasonCode }: Pick<Before, 'reasonCode'>): StartFault {
  return reasonCode === 'PULLING' ? 'unclear' : 'machine'
}

/** Who is to blame for a start that is given up because it took too long; undefined if the machine was not asked to start it. */
export function givenUpStartFault({
  status,
  reasonCode,
}: Pick<Before, 'status' | 'reasonCode'>): StartFault | undefined {
  if (reasonCode === 'HOST_UNREACHABLE' || reasonCode === 'MACHINE_ERROR') return 'machine'
  return status === 'loading' ? 'unclear' : undefined
}
