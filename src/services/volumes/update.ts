import { Prisma } from '../../database/generated/client.ts'
import { int4, text } from '../../database/row-types.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type Issue, invalidInput, itemGone, joinIssues, notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { diskPricePerHour } from '../../domain/money.ts'
import { diskMbOf } from '../../domain/offers/offers.ts'
import {
  deletionRefusal,
  isStorageListed,
  newVolumeIssues,
  priceVolume,
  type Volume,
  volumeNameIssues,
  volumeOfferUnavailable,
} from '../../domain/volumes/volumes.ts'
import { requireCredit } from '../accounts/accounts.ts'
import { authorize } from '../authorize.ts'
import { checkAdmission } from '../billing/admission.ts'
import { lockAccount } from '../billing/balance.ts'
import { checkSpendLimits } from '../billing/limits/check.ts'
import { openVolumeMeters } from '../billing/meters.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { runAndRead } from '../idempotency.ts'
import { lockMachine } from '../machines/lock.ts'
import { changeFreeCapacity, updateOffers } from '../machines/market.ts'
import { deleteVolume } from './delete.ts'
import { insertVolumes, loadVolumeFacts } from './rent.ts'
import { findVolumes, ownVolumesSql } from './volumes.ts'

const { sql, join } = Prisma

type VolumeInput = {
  /** The machine of the volume offer. */
  machineId: number
  sizeGb: number
  name?: string | undefined
  /** Refuse a volume that costs more per hour. */
  maxPriceNanos?: bigint | undefined
  /** Problems that the face has found. */
  parseIssues?: Issue[]
  idempotencyKey?: string | null | undefined
}

export function volumeUpdateServices(deps: Deps) {
  const { database } = deps

  return {
    /** Creates a volume on the free disk of a machine. */
    async create(
      actor: Actor,
      { machineId, sizeGb, name, maxPriceNanos, idempotencyKey, parseIssues }: VolumeInput,
    ): Promise<{ volume: Volume; replayed: boolean }> {
      authorize(actor, 'volumes.create', { machineId, sizeGb })
      const issues = joinIssues(parseIssues, newVolumeIssues({ name, sizeGb }))
      if (issues.length > 0) throw invalidInput(issues)
      const input = { machineId, sizeGb, name: name || undefined, maxPriceNanos }
      const request = { operation: 'volumes.create' as const, input, idempotencyKey }
      const work = async (tx: Transaction) => {
        await requireCredit(tx, actor, tx.at)
        // No machine has a larger id, and PostgreSQL rejects a larger id as a parameter.
        const machine = machineId < 2 ** 31 ? await lockMachine(tx, machineId) : undefined
        const { at } = tx
        if (!machine || !isStorageListed(machine, at)) throw volumeOfferUnavailable(machineId)
        const sizeMb = diskMbOf(sizeGb) as number
        priceVolume(machine, { sizeMb, maxPriceNanos })
        const [id] = await insertVolumes(tx, actor, machine, [{ name, sizeGb }], at)
        await updateOffers(tx, await changeFreeCapacity(tx, machine, { diskMb: -sizeMb }), at)
        const account = await lockAccount(tx, actor.accountId, at)
        const diskNanos = diskPricePerHour(machine.diskPricePerGbMonthNanos, sizeMb)
        await checkAdmission(tx, deps.admission, account, { diskNanos, diskMb: sizeMb, volumes: 1 })
        await openVolumeMeters(tx, { accountId: actor.accountId, apiKeyId: actor.apiKeyId, since: account.at }, [
          id as bigint,
        ])
        await checkSpendLimits(tx, account, [{ apiKeyId: actor.apiKeyId, rateNanos: diskNanos }])
        return { id: String(id) }
      }
      const read = async (tx: Transaction, { id }: { id: string }) => {
        const own = [...ownVolumesSql(actor), sql`v.id = ${id}::bigint`]
        const [volume] = await findVolumes(tx, own, sql`v.id`, 1)
        if (!volume) throw itemGone('Volume', BigInt(id))
        return volume
      }
      const { answer, replayed } = await runAndRead(deps, actor, request, { work, read })
      return { volume: answer, replayed }
    },

    /** Changes the name of a volume; an absent name stays. */
    async update(actor: Actor, id: bigint, { name }: { name?: string | undefined }): Promise<Volume> {
      authorize(actor, 'volumes.update', { id: Number(id) })
      const issues = name === undefined ? [] : volumeNameIssues(name)
      if (issues.length > 0) throw invalidInput(issues)
      const own = [...ownVolumesSql(actor), sql`v.id = ${id}`]
      return await transaction(database, async tx => {
        const locked = sql`SELECT v.name FROM volumes v WHERE ${join(own, ' AND ')} FOR NO KEY UPDATE`
        const [before] = await tx.query(locked, { name: text })
        if (!before) throw notFound('Volume', id)
        if (name !== undefined && name !== before.name) {
          await tx.execute(sql`UPDATE volumes SET name = ${name} WHERE id = ${id}`)
          const facts = { volumeId: String(id) }
          const change = { before: { ...facts, ...before }, after: { ...facts, name } }
          const event = { kind: 'VOLUME_UPDATED' as const, accountId: actor.accountId, actor: apiKeyActor(actor) }
          await recordEvents(tx, [{ ...event, ...change, reason: 'USER_REQUEST' }], tx.at)
        }
        const [volume] = await findVolumes(tx, own, sql`v.id`, 1)
        if (!volume) throw notFound('Volume', id)
        return volume
      })
    },

    /** Deletes a volume with all its data, and returns its disk to the machine. */
    async delete(actor: Actor, id: bigint): Promise<void> {
      authorize(actor, 'volumes.delete', { id: Number(id) })
      await transaction(database, async tx => {
        const [found] = await tx.query(
          sql`SELECT machine_id FROM volumes WHERE id = ${id} AND account_id = ${actor.accountId} AND deleted_at IS NULL`,
          { machineId: int4 },
        )
        const machine = found && (await lockMachine(tx, found.machineId))
        if (!machine) throw notFound('Volume', id)
        const [volume] = await loadVolumeFacts(tx, actor, [id])
        if (!volume) throw notFound('Volume', id)
        const refusal = deletionRefusal(volume)
        if (refusal) throw refusal
        await deleteVolume(
          tx,
          { accountId: actor.accountId, actor: apiKeyActor(actor), reason: 'USER_REQUEST' },
          machine,
          id,
          tx.at,
        )
      })
    },
  }
}
