import { expect } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Finding } from '../../../src/services/reconciliation/finding.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { unboundedSql } from '../accounts/unbounded.ts'
import { manualClock } from '../clock.ts'
import { createDatabase } from '../database/database.ts'
import { listMachines } from '../factories.ts'
import { type Gateway, openGateway } from '../gateways.ts'
import { aMarketModel, bidOf, type MarketAction } from './market-model.ts'

type Model = ReturnType<typeof aMarketModel>

/** A gateway with its database, and a model that gets the same actions. No container ever runs. */
export async function openMarketSite() {
  const clock = manualClock()
  const database = await createDatabase()
  const gateway = openGateway({ url: database.url, now: clock.now })
  const actor = await gateway.newActor()
  await gateway.sql(unboundedSql(actor.accountId))
  let machineId = 0

  return {
    /** Runs the actions on a new machine. Checks after each that its GPUs have the holders of the model. */
    async run({ numGpus, actions }: { numGpus: number; actions: MarketAction[] }): Promise<void> {
      await listMachines(gateway.operations, [{ machine: { numGpus } }])
      machineId += 1
      const model = aMarketModel(numGpus)
      for (const action of actions) {
        await perform(model, action)
        const rows = await gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1 ORDER BY index', [machineId])
        const holders = rows.map(({ holder_id: id }) => (id === null ? null : BigInt(id as string)))
        expect(holders).toEqual(model.holders())
      }
    },
    async close() {
      await gateway.close()
      await database.drop()
    },
  }

  async function perform(model: Model, action: MarketAction): Promise<void> {
    if (action.kind === 'rent') return await rent(model, action)
    if (action.kind === 'wait') clock.advance(1_000)
    else await performOnRental(gateway, actor, model, action)
    model.apply(action)
  }

  async function rent(model: Model, action: Extract<MarketAction, { kind: 'rent' }>): Promise<void> {
    const { block, bidNanos, stopped } = action
    const [offer] = await gateway.sql(
      `SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND num_gpus = $3
        AND withdrawn_at IS NULL AND rentable`,
      [machineId, block.firstGpu, block.numGpus],
    )
    expect([block, offer !== undefined]).toEqual([block, model.isRentable(block)])
    if (!offer) return
    const launch = { targetState: stopped ? ('stopped' as const) : ('running' as const) }
    const terms =
      bidNanos === undefined ? { interruptible: false as const } : { interruptible: true as const, bidNanos }
    const { id } = await gateway.rent(actor, BigInt(offer['id'] as string), { launch, terms })
    model.rent(id, action)
  }

  async function performOnRental(
    { services }: Gateway,
    renter: Actor,
    model: Model,
    action: Exclude<MarketAction, { kind: 'rent' | 'wait' }>,
  ): Promise<void> {
    const contender = model.pick(action.pick)
    if (!contender) return
    const { instanceId: id } = contender
    switch (action.kind) {
      case 'start':
      case 'stop':
        await services.instances.update(
          renter,
          { ids: [id] },
          { targetState: action.kind === 'start' ? 'running' : 'stopped' },
        )
        return
      case 'destroy':
        await services.instances.destroy(renter, { ids: [id] })
        return
      case 'end':
        return await end(id)
      case 'bid':
        await services.instances.updateBid(renter, id, bidOf(action, contender)).catch((error: unknown) => {
          const refusals = ['INVALID_STATE', 'NOT_FOUND']
          if (!(error instanceof DomainError && refusals.includes(error.code))) throw error
        })
    }
  }

  /** Ends the container. The next pass grants its GPUs to other instances. */
  async function end(id: bigint): Promise<void> {
    const gone: Finding = {
      ...{ status: 'exited', reason: undefined, ran: false, usesGpus: false, gone: false, dueAt: null },
      ...{ answered: true, seenAt: null, unconfirmed: false, needsRetry: false },
    }
    await gateway.reconciliation.record(await leaseOf(id), gone)
    await gateway.reconciliation.catchUpMarket(await leaseOf(id))
    await gateway.sql('UPDATE instance_looks SET due_at = NULL WHERE instance_id = $1', [id])
  }

  /** Makes the instance due before all other instances, which are due because no pass has run over them. */
  async function leaseOf(id: bigint): Promise<InstanceLease> {
    await gateway.sql("UPDATE instance_looks SET due_at = 'epoch', leased_until = NULL WHERE instance_id = $1", [id])
    const [lease] = await gateway.reconciliation.leaseDue(1)
    if (lease?.instanceId !== id) throw new Error(`Instance ${id} is not due first.`)
    return lease
  }
}
