// One look at one instance: see, plan, act, until nothing is left to do but wait; then write down what was seen.
//
// One gateway at a time acts on an instance. Its lease sees to that, and that every call ends before the lease does;
// nothing starts without its GPUs being marked as in use under the lease. What a machine still does that was told too
// late is found by the next look, which there is for every container, and put right there.

import type { Truth } from '../domain/instances/containers.ts'
import { wantsGpus } from '../domain/instances/instances.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { Lease } from '../services/reconciliation/leases.ts'
import type { Deps } from './deps.ts'
import { after, backOff, findingOf, wishOf } from './finding.ts'
import { type Plan, plan, type Step } from './plan.ts'
import { troubled, waiting } from './reasons.ts'
import { execute, see } from './steps.ts'

/** Looking and acting in turns comes to an end long before this, or there is a bug. */
const maxTurns = 10
const waitingMs = 10_000

export async function reconcile(deps: Deps, lease: Lease): Promise<void> {
  const { reconciliation, log, clock, limits } = deps
  try {
    if (wantsGpus(lease) !== lease.granted && (await reconciliation.settle(lease))) return
    await look(deps, lease)
  } catch (error) {
    const { instanceId, attempts } = lease
    log.warn({ err: error, instanceId: String(instanceId), attempts }, 'An instance could not be looked at.')
    await reconciliation.postpone(lease, backOff(lease, wishOf(lease, clock.now()), limits, clock.now()))
  }
}

async function look(deps: Deps, lease: Lease): Promise<void> {
  const { limits, clock } = deps
  let wish = wishOf(lease, clock.now())
  let last: Step | undefined
  let started = false
  let seenAt: Date | null = null
  /** Where it was told to start, its GPUs stay its own until another look: what begins may not be seen at once. */
  const find = (truth: Truth, next: Plan): Finding => {
    const finding = findingOf(wish, truth, next, clock.now())
    return { ...finding, seenAt, inactive: finding.inactive && !started }
  }
  for (let turn = 1; turn <= maxTurns; turn += 1) {
    const askedAt = clock.now()
    const truth = await see(deps, lease)
    if (truth.state !== 'unreachable') seenAt = askedAt
    const next = plan(wish, truth, limits)
    const [step] = next.steps
    // What was begun and cannot be seen yet takes its time.
    if (step === undefined || step === last) return await write(deps, lease, find(truth, next))
    const outcome = await execute[step](deps, lease)
    // It may have begun before it failed.
    if (step === 'start' && outcome.kind !== 'waiting') started = true
    switch (outcome.kind) {
      case 'begun':
        last = step
        // What ends after it was started here ended by itself, and is not started once more.
        if (step === 'start') wish = { ...wish, status: 'loading', loadingMs: 0, refused: false }
        break
      case 'waiting': {
        const rest = { steps: [], status: 'scheduling' as const, reason: waiting, settled: false }
        return await write(deps, lease, { ...find(truth, rest), dueAt: after(clock.now(), waitingMs) })
      }
      case 'unreachable': {
        const unseen: Truth = { state: 'unreachable' }
        return await write(deps, lease, find(unseen, plan(wish, unseen, limits)))
      }
      case 'refused': {
        const { instanceId, machineId } = lease
        const about = { err: outcome.error, instanceId: String(instanceId), machineId, step }
        deps.log.warn(about, 'A machine did not do what it was told.')
        return await write(deps, lease, { ...find(truth, { ...next, reason: troubled }), failed: true })
      }
    }
  }
  throw new Error(`Instance ${lease.instanceId} did not come to rest in ${maxTurns} turns.`)
}

async function write({ reconciliation, limits, log, clock }: Deps, lease: Lease, finding: Finding): Promise<void> {
  const { instanceId, machineId, unreachableAt } = lease
  const about = { instanceId: String(instanceId), machineId }
  if (!finding.answered && unreachableAt === null) log.warn(about, 'A machine does not answer.')
  const dueAt = finding.failed ? backOff(lease, wishOf(lease, clock.now()), limits, clock.now()) : finding.dueAt
  const machine = await reconciliation.record(lease, { ...finding, dueAt })
  if (machine === 'suspended')
    log.warn(about, 'A machine does not confirm that a container is down: nothing new is rented on it.')
  if (machine === 'cleared') log.info(about, 'A machine has confirmed what it owed: it can be rented again.')
}
