import type { Logger } from 'pino'
import { isActive, type Truth } from '../domain/containers.ts'
import { wantsGpus } from '../domain/instances.ts'
import type { Provider } from '../providers/provider.ts'
import type { Lease } from '../services/leases.ts'
import type { reconciliationServices } from '../services/reconciliation.ts'
import type { Finding } from '../services/reconciliation-record.ts'
import { type Plan, plan, type Step, type Wish, waiting } from './plan.ts'

type Reconciliation = ReturnType<typeof reconciliationServices>
export type Deps = { reconciliation: Reconciliation; provider: Provider; now: () => Date; log: Logger }

/** Looking and acting in turns comes to an end long before this, or there is a bug. */
const maxTurns = 10
/** How soon to look again at what is changing, when the provider does not say; and at what runs, in case it ends. */
const movingMs = 2_000
const runningMs = 60_000
const waitingMs = 10_000
/** A provider that does not answer in time is asked again later. */
const providerTimeoutMs = 10_000

/** Looks at one instance: sees, plans, acts, until nothing is left to do but wait; then writes down what it saw. */
export async function reconcile(deps: Deps, lease: Lease): Promise<void> {
  const { reconciliation, log, now } = deps
  try {
    if (wantsGpus(lease) !== lease.granted && (await reconciliation.settle(lease))) return
    await look(deps, lease)
  } catch (error) {
    const { instanceId, attempts } = lease
    log.warn({ err: error, instanceId: String(instanceId), attempts }, 'An instance could not be looked at.')
    const delay = Math.min(1_000 * 2 ** attempts, 60_000)
    await reconciliation.postpone(lease, new Date(now().getTime() + delay))
  }
}

async function look(deps: Deps, lease: Lease): Promise<void> {
  const { reconciliation, provider, now } = deps
  let wish: Wish = lease
  for (let turn = 1; turn <= maxTurns; turn += 1) {
    const truth = await provider.observe(lease.instanceId, timeLimit(deps, lease))
    const next = plan(wish, truth)
    const [step] = next.steps
    if (step === undefined) return await reconciliation.record(lease, findingOf(lease, truth, next, now()))
    if (await execute[step](deps, lease)) {
      // What ends after it was started here ended by itself, and is not started once more.
      if (step === 'start') wish = { ...wish, status: 'loading' }
      continue
    }
    const finding = findingOf(lease, truth, { steps: [], status: 'scheduling', reason: waiting, settled: false }, now())
    return await reconciliation.record(lease, { ...finding, dueAt: after(now(), waitingMs) })
  }
  throw new Error(`Instance ${lease.instanceId} did not come to rest in ${maxTurns} turns.`)
}

/** What each step is. False when it cannot be taken yet. */
const execute: Record<Step, (deps: Deps, lease: Lease) => Promise<boolean>> = {
  async ensure(deps, lease) {
    const spec = await deps.reconciliation.specOf(lease)
    await deps.provider.ensure(spec, timeLimit(deps, lease))
    return true
  },
  async authorise(deps, lease) {
    // The keys that were planned with. Others that came since are found by the next look, which is due then.
    const { instanceId, sshKeys } = lease
    if (sshKeys) await deps.provider.authorise({ instanceId, sshKeys }, timeLimit(deps, lease))
    return true
  },
  async start(deps, lease) {
    if (!(await deps.reconciliation.occupy(lease))) return false
    await deps.provider.start(lease.instanceId, timeLimit(deps, lease))
    return true
  },
  async stop(deps, lease) {
    await deps.provider.stop(lease.instanceId, timeLimit(deps, lease))
    return true
  },
  async remove(deps, lease) {
    await deps.provider.remove(lease.instanceId, timeLimit(deps, lease))
    return true
  },
}

function findingOf({ destroyed }: Lease, truth: Truth, { status, reason, settled }: Plan, now: Date): Finding {
  const expected = 'until' in truth ? truth.until : undefined
  const dueAt = settled
    ? truth.state === 'running' && !destroyed
      ? after(now, runningMs)
      : null
    : (expected ?? after(now, movingMs))
  const { state } = truth
  const gone = destroyed && state === 'absent'
  return { status, reason, ran: state === 'running', inactive: !isActive(truth), gone, dueAt }
}

/** A call ends before the lease does: after that, another gateway may be acting on the instance. */
function timeLimit({ now }: Deps, { instanceId, leasedUntil }: Lease): AbortSignal {
  const leftMs = leasedUntil.getTime() - now().getTime()
  if (leftMs <= 0) throw new Error(`The lease of instance ${instanceId} ran out while it was looked at.`)
  return AbortSignal.timeout(Math.min(leftMs, providerTimeoutMs))
}

function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
