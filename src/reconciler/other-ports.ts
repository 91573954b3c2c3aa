// An engine that was killed may keep the ports of a container that it was starting, until it is started once more.

import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import { isContainerExpected } from './instance-state.ts'
import { observeContainer, runStep } from './steps.ts'

/**
 * Gives an instance other public ports; the next pass makes a new container with them. A container that has run stays: it has files
 * of the renter. The container goes first, so that none ever has ports that another instance may get.
 */
export async function takeOtherPorts(deps: ReconcilerDeps, lease: InstanceLease): Promise<void> {
  if (isContainerExpected(lease) || !(await deps.reconciliation.hasOtherPorts(lease))) return
  const { kind } = await runStep.remove(deps, lease)
  if (kind === 'begun' && (await observeContainer(deps, lease)).state === 'absent')
    await deps.reconciliation.changePorts(lease)
}
