import { Prisma } from '../../database/generated/client.ts'
import { bool, enumeration, int4, int8, nullable, timestamptz } from '../../database/row-types.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { invalidInput, notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { requireLiving } from '../../domain/instances/actions.ts'
import { type Bidder, checkBid, decideBid, winningBid } from '../../domain/instances/bid.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { InstanceStatus, TargetState } from '../../domain/instances/states.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import { type Claim, calculateMinimumBid } from '../../domain/machines/market.ts'
import { requireCredit } from '../accounts/accounts.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import { checkAdmission } from '../billing/admission.ts'
import { type AccountBalance, lockAccount } from '../billing/balance.ts'
import { checkOwnInstances, checkSpendLimits } from '../billing/limits/check.ts'
import { changeRate } from '../billing/meters.ts'
import { loadGpuRates } from '../billing/spending.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { lockMachine } from '../machines/lock.ts'
import { loadClaims, updateMarket } from '../machines/market.ts'
import { lockLivingInstances } from './lock.ts'
import { scheduleNextAction } from './policy/facts.ts'
import { findInstances } from './read.ts'

const { sql } = Prisma

export function bidServices(deps: Deps) {
  const { database } = deps

  return {
    /**
     * Changes the bid of an instance. Without `bidNanos`, the bid becomes the lowest that wins the GPUs now. The same
     * transaction updates the market of the machine.
     */
    async updateBid(actor: Actor, id: bigint, bidNanos: bigint | undefined): Promise<Instance> {
      authorize(actor, 'instances.changeBid', { id: Number(id) })
      const issue = bidNanos === undefined ? undefined : checkBid(bidNanos)
      if (issue) throw invalidInput([issue])
      await transaction(database, tx => updateBidInTransaction(tx, actor, id, bidNanos))
      return (await findInstances(deps, [sql`i.id = ${id}`], sql`i.id`, 1))[0] as Instance
    },

    /**
     * The lowest bids with which instances of the account win their GPUs now. Instances for which no bid wins are left
     * out.
     */
    async minimumBids(actor: Actor, ids: readonly bigint[]): Promise<{ id: bigint; minimumBidNanos: bigint }[]> {
      authorizeEach(actor, 'instances.get', ids)
      return await loadMinimumBids(database, actor, ids)
    },
  }

  async function updateBidInTransaction(
    tx: Transaction,
    actor: Actor,
    id: bigint,
    requestedBidNanos: bigint | undefined,
  ): Promise<void> {
    const { accountId } = actor
    const [seen] = await tx.query(
      sql`SELECT machine_id FROM instances WHERE id = ${id} AND account_id = ${accountId}`,
      { machineId: int4 },
    )
    const machine = seen && (await lockMachine(tx, seen.machineId))
    if (!machine) throw notFound('Instance', id)
    const { at } = tx
    await lockLivingInstances(tx, machine.id)
    const bidder = requireLiving(id, await loadBidder(tx, id))
    const bidNanos = requestedBidNanos ?? (await lowestWinningBid(tx, bidder, machine))
    const outcome = decideBid(bidder, machine.minBidGpuNanos * BigInt(bidder.numGpus), bidNanos)
    if (outcome === 'unchanged') return
    if (outcome === 'raised') await requireCredit(tx, actor, at)

    // The claim counts from now, so older claims with an equal bid come first. A stopped instance has no claim: its
    // `claimed_at` keeps the time of the stop.
    const written = await tx.execute(sql`
      UPDATE instances SET gpu_price_nanos = ${bidNanos},
        claimed_at = CASE target_state WHEN 'running' THEN ${at} ELSE claimed_at END
      WHERE id = ${id} AND account_id = ${accountId} AND interruptible AND destroyed_at IS NULL`)
    if (written !== 1) throw new Error(`Instance ${id} was changed without its lock.`)
    const [before, after] = [{ gpuPriceNanos: String(bidder.gpuPriceNanos) }, { gpuPriceNanos: String(bidNanos) }]
    const event = { kind: 'INSTANCE_BID_CHANGED' as const, accountId, actor: apiKeyActor(actor), instanceId: id }
    await recordEvents(tx, [{ ...event, before, after, reason: 'USER_REQUEST' }], at)
    const granted = await updateMarket(tx, machine, at)
    const account = await lockAccount(tx, accountId, at)
    await changeRate(tx, account, id, bidNanos)
    await scheduleNextAction(tx, account, id, at)
    await refuseStarted(tx, account, granted)
    if (outcome === 'raised') await refuseRaise(tx, account, actor, bidder, bidNanos)
  }

  /** Refuses a bid that gives GPUs to any instance of the account that may not start now. */
  async function refuseStarted(tx: Transaction, account: AccountBalance, granted: Claim[]): Promise<void> {
    const ids = granted.filter(({ holdsGpus }) => !holdsGpus).map(({ instanceId }) => String(instanceId))
    if (ids.length === 0) return
    const loading = await tx.execute(sql`
      SELECT FROM instances WHERE id = ANY(${ids}::bigint[]) AND account_id = ${account.accountId} AND status <> 'running'`)
    if (loading > 0) await checkAdmission(tx, deps.admission, account, { loading })
  }

  async function refuseRaise(
    tx: Transaction,
    account: AccountBalance,
    actor: Actor,
    { id, targetState, gpuPriceNanos }: Bidder,
    bidNanos: bigint,
  ): Promise<void> {
    await checkOwnInstances(tx, account, actor, [id])
    if (targetState === 'stopped') return
    const rateNanos = bidNanos - gpuPriceNanos
    await checkAdmission(tx, deps.admission, account, { gpuPriceNanos: rateNanos })
    await checkSpendLimits(
      tx,
      account,
      (await loadGpuRates(tx, [id])).map(rate => ({ ...rate, rateNanos })),
    )
  }

  /** The lowest bid that wins now. For an on-demand instance the value is unused: `decideBid` refuses it. */
  async function lowestWinningBid(tx: Transaction, bidder: Bidder, machine: Machine): Promise<bigint> {
    if (!bidder.interruptible) return bidder.gpuPriceNanos
    const { firstGpu, numGpus } = bidder
    const block = { instanceId: bidder.id, firstGpu, numGpus }
    return winningBid(bidder.id, calculateMinimumBid(block, machine, await loadClaims(tx, [machine.id])))
  }

  async function loadBidder(tx: Transaction, id: bigint): Promise<Bidder | undefined> {
    const [row] = await tx.query(
      sql`
        SELECT target_state, status, destroyed_at, interruptible, gpu_price_nanos, first_gpu, num_gpus FROM instances
        WHERE id = ${id}`,
      {
        ...{ targetState: enumeration<TargetState>(), status: enumeration<InstanceStatus>() },
        ...{ destroyedAt: nullable(timestamptz), interruptible: bool, gpuPriceNanos: int8 },
        ...{ firstGpu: int4, numGpus: int4 },
      },
    )
    return row && { id, ...row }
  }
}

/** Internal: does not authorize; callers must have. */
export async function loadMinimumBids(
  database: Pick<Transaction, 'query'>,
  { accountId }: Pick<Actor, 'accountId'>,
  ids: readonly bigint[],
): Promise<{ id: bigint; minimumBidNanos: bigint }[]> {
  const rows = await database.query(
    sql`
      SELECT i.id, i.machine_id, i.first_gpu, i.num_gpus, m.min_bid_gpu_nanos
      FROM instances i JOIN machines m ON m.id = i.machine_id
      WHERE i.id = ANY(${ids.map(String)}::bigint[]) AND i.account_id = ${accountId}`,
    { id: int8, machineId: int4, firstGpu: int4, numGpus: int4, minBidGpuNanos: int8 },
  )
  const claims = await loadClaims(database, [...new Set(rows.map(({ machineId }) => machineId))])
  return rows.flatMap(({ id, machineId, firstGpu, numGpus, minBidGpuNanos }) => {
    const others = claims.filter(claim => claim.machineId === machineId)
    const minimumBidNanos = calculateMinimumBid({ instanceId: id, firstGpu, numGpus }, { minBidGpuNanos }, others)
    return minimumBidNanos === undefined ? [] : [{ id, minimumBidNanos }]
  })
}
