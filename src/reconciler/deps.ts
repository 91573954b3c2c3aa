import type { Logger } from 'pino'
import type { Provider } from '../providers/provider.ts'
import type { reconciliationServices } from '../services/reconciliation/reconciliation.ts'
import type { TimeLimits } from './plan.ts'

export type Reconciliation = ReturnType<typeof reconciliationServices>
export type ReconcilerDeps = {
  reconciliation: Reconciliation
  provider: Provider
  /** The present instant: never ahead for what is written, never behind for what must end in time. */
  clock: { now(): Date; latest(): Date }
  log: Logger
  limits: TimeLimits
}
