import type { Lease } from '../services/reconciliation/leases.ts'
import type { Deps } from './deps.ts'
import { createLoop, type Loop } from './loop.ts'
import { reconcile } from './reconcile.ts'

export function createInstanceLoop(deps: Deps): Loop {
  const { reconciliation, log } = deps
  return createLoop<Lease>({
    name: 'instances',
    claim: (limit, busy) => reconciliation.claim(limit, busy),
    work: lease => reconcile(deps, lease),
    log,
  })
}
