import { Prisma } from '../../database/generated/client.ts'
import { transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../domain/errors.ts'
import { diskRate } from '../../domain/money.ts'
import { diskMbOf } from '../../domain/offers/offers.ts'
import { agreeVolume, newVolumeIssues, offersStorage, type Volume, volumeInUse } from '../../domain/volumes/volumes.ts'
import { needCredit } from '../accounts/accounts.ts'
import { authorise } from '../authorize.ts'
import { refuseAddition } from '../billing/admission.ts'
import { lockBalance } from '../billing/balance.ts'
import { refuseBeyondLimits } from '../billing/limits/refuse.ts'
import { openMeters } from '../billing/meters.ts'
import type { Deps } from '../deps.ts'
import { once } from '../idempotency.ts'
import { changeRoom, lockMachine, relistMarket } from '../machines/market.ts'
import { deleteVolume } from './delete.ts'
import { insertVolumes, volumesFor } from './rent.ts'
import { findVolumes } from './volumes.ts'

const { sql } = Prisma

type VolumeWish = {
  /** The machine whose storage offer it is. */
  machineId: number
  sizeGb: number
  name?: string | undefined
  /** Refuse when it costs more per hour. */
  maxPriceNanos?: bigint | undefined
  idempotencyKey?: string | null | undefined
}

export function volumeChangeServices(deps: Deps) {
  const { database } = deps

  return {
    /** Makes a volume on a machine, of its free disk. */
    async create(actor: Actor, wish: VolumeWish): Promise<{ volume: Volume; replayed: boolean }> {
      const { machineId, sizeGb, name, maxPriceNanos, idempotencyKey } = wish
      authorise(actor, 'volumes.create', { machineId, sizeGb })
      const issues = newVolumeIssues({ name, sizeGb })
      if (issues.length > 0) throw invalidInput(issues)
      const input = { machineId, sizeGb, name: name || undefined, maxPriceNanos }
      const request = { operation: 'volumes.create' as const, input, idempotencyKey }
      const { result, replayed } = await once(deps, actor, request, async tx => {
        await needCredit(tx, actor, tx.at)
        // No machine has a larger id.
        const machine = machineId < 2 ** 31 ? await lockMachine(tx, machineId) : undefined
        const { at } = tx
        if (!machine || !offersStorage(machine, at)) {
          const message = `The storage of machine ${machineId} is not on the market.`
          throw new DomainError('OFFER_UNAVAILABLE', message, { instanceId: null, alternatives: [], cancelled: false })
        }
        const sizeMb = diskMbOf(sizeGb) as number
        agreeVolume(machine, { sizeMb, maxPriceNanos })
        const [id] = await insertVolumes(tx, actor, machine, [{ name, sizeGb }], at)
        await relistMarket(tx, await changeRoom(tx, machine, { diskMb: -sizeMb }), at)
        const account = await lockBalance(tx, actor.accountId, at)
        const diskNanos = diskRate(machine.storageNanos, sizeMb)
        await refuseAddition(tx, deps.admission, account, { diskNanos, diskMb: sizeMb, volumes: 1 })
        await openMeters(tx, account, { apiKeyId: actor.apiKeyId, volumeIds: [id as bigint] })
        await refuseBeyondLimits(tx, account, [{ apiKeyId: actor.apiKeyId, rateNanos: diskNanos }])
        return { id: String(id) }
      })
      // Also when it was deleted since: a repetition is answered as the first request was.
      const mine = [sql`v.id = ${result.id}::bigint`, sql`v.account_id = ${actor.accountId}`]
      const [volume] = await findVolumes(deps, mine, sql`v.id`, 1)
      return { volume: volume as Volume, replayed }
    },

    /** Deletes a volume with all that is in it, and gives its disk back to the machine. */
    async delete(actor: Actor, id: bigint): Promise<void> {
      authorise(actor, 'volumes.delete', { id: Number(id) })
      await transaction(database, async tx => {
        const [seen] = await tx.rows(sql`
          SELECT machine_id FROM volumes WHERE id = ${id} AND account_id = ${actor.accountId} AND deleted_at IS NULL`)
        const machine = seen && (await lockMachine(tx, seen[0] as number))
        if (!machine) throw notFound('Volume', id)
        const [volume] = await volumesFor(tx, actor, [id])
        if (!volume) throw notFound('Volume', id)
        if (volume.instanceId !== null) throw volumeInUse(id, volume.instanceId, volume.removing)
        await deleteVolume(tx, { ...actor, reason: 'USER_REQUEST' }, machine, id, tx.at)
      })
    },
  }
}
