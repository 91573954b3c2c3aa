import type { Logger } from 'pino'
import type { Provider } from '../providers/provider.ts'
import type { reconciliationServices } from '../services/reconciliation/reconciliation.ts'
import type { TimeLimits } from './instance-state.ts'

type Reconciliation = ReturnType<typeof reconciliationServices>
export type ReconcilerDeps = {
  reconciliation: Reconciliation
  provider: Provider
  /**
   * The time of the database. `now` is never ahead of it, for stored instants; `latest` is never behind, for deadlines.
   */
  clock: { now(): Date; latest(): Date; steadyMs(): number }
  log: Logger
  limits: TimeLimits
}
