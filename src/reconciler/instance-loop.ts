import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import { createLoop, type Loop } from './loop.ts'
import { reconcile } from './reconcile.ts'

export function createInstanceLoop(deps: ReconcilerDeps): Loop {
  const { reconciliation, log } = deps
  return createLoop<InstanceLease>({
    name: 'instances',
    leaseDue: (limit, busy) => reconciliation.leaseDue(limit, busy),
    work: lease => reconcile(deps, lease),
    log,
  })
}
