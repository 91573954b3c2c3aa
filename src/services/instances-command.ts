import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import type { Change, TargetState } from '../domain/instances.ts'
import { type Command, checkIds, planCommand, type Step, type Subject } from '../domain/instances-command.ts'
import { checkLabel } from '../domain/launch.ts'
import { needCredit } from './accounts.ts'
import { authoriseEach } from './authorise.ts'
import type { Deps } from './deps.ts'
import { type NewEvent, recordEvents } from './events.ts'
import { lockMachine, settleMarket } from './market.ts'

const { sql } = Prisma

export type CommandOptions = {
  /** Everything or nothing. */
  all?: boolean
  /** Say what would happen, and do nothing. */
  dryRun?: boolean
}

export function commandServices({ database, now }: Deps) {
  return {
    /** Changes the target state or the label of instances, each for itself unless all or none are wanted. */
    async update(actor: Actor, ids: readonly bigint[], change: Change, options: CommandOptions = {}): Promise<Step[]> {
      authoriseEach(actor, 'instances.update', ids, { relabels: change.label !== undefined })
      checkIds(ids)
      const issue = change.label === undefined ? undefined : checkLabel(change.label)
      if (issue) throw invalidInput([issue])
      if (change.targetState === undefined && change.label === undefined) {
        throw new DomainError('INVALID_INPUT', 'Nothing to change: give a state or a label.')
      }
      return await command(actor, ids, { kind: 'change', change }, options)
    },

    /** Ends rentals. What was destroyed before stays so. */
    async destroy(actor: Actor, ids: readonly bigint[], options: CommandOptions = {}): Promise<Step[]> {
      authoriseEach(actor, 'instances.destroy', ids)
      checkIds(ids)
      return await command(actor, ids, { kind: 'destroy' }, options)
    },
  }

  /**
   * Wishes are written in one transaction; each machine's market follows them in one of its own. By then the command is
   * done: where the market can't follow now, it does when the instances are looked at, which are due.
   */
  async function command(
    actor: Actor,
    ids: readonly bigint[],
    command: Command,
    { all = false, dryRun = false }: CommandOptions,
  ): Promise<Step[]> {
    const at = now()
    const { steps, machines } = await transaction(database.pool, async tx => {
      if (command.kind === 'change' && command.change.targetState === 'running') await needCredit(tx, actor)
      const locked = await lockInstances(tx, actor, ids)
      const steps = planCommand(
        ids,
        locked.map(({ subject }) => subject),
        command,
        all,
      )
      if (dryRun) return { steps, machines: [] }
      const moved = await write(tx, actor, steps, locked, at)
      return { steps, machines: [...new Set(moved)] }
    })
    for (const id of machines) {
      const settling = transaction(database.pool, async tx => {
        const machine = await lockMachine(tx, id)
        if (machine) await settleMarket(tx, machine, at)
      })
      await settling.catch(() => {})
    }
    return steps
  }

  async function lockInstances(tx: Transaction, { accountId }: Actor, ids: readonly bigint[]): Promise<Locked[]> {
    const rows = await tx.rows(sql`
      SELECT id, label, target_state, status, destroyed_at, machine_id FROM instances
      WHERE id = ANY(${ids.map(String)}::bigint[]) AND account_id = ${accountId} ORDER BY id FOR UPDATE`)
    return rows.map(([id, label, targetState, status, destroyedAt, machineId]) => ({
      subject: { id, label, targetState, status, destroyedAt } as Subject,
      machineId: machineId as number,
    }))
  }

  /** The machines whose market the steps move. */
  async function write(tx: Transaction, actor: Actor, steps: Step[], locked: Locked[], at: Date): Promise<number[]> {
    const changes = locked.flatMap(({ subject, machineId }) => {
      const step = steps.find(({ id }) => id === subject.id)
      if (step?.outcome !== 'applied') return []
      const { label = subject.label, targetState = subject.targetState, destroy = false } = step
      return [
        { subject, machineId, label, targetState, destroy, moves: destroy || targetState !== subject.targetState },
      ]
    })
    const of = <Value>(value: (change: (typeof changes)[number]) => Value) => changes.map(value)
    await tx.rows(sql`
      UPDATE instances SET label = new.label, target_state = new.target_state,
        destroyed_at = CASE WHEN new.destroy THEN ${at}::timestamptz END,
        claimed_at = CASE WHEN instances.target_state <> new.target_state THEN ${at} ELSE claimed_at END,
        generation = generation + new.moves::int, due_at = CASE WHEN new.moves THEN ${at} ELSE due_at END
      FROM unnest(
        ${of(({ subject }) => String(subject.id))}::bigint[], ${of(({ label }) => label)}::text[],
        ${of(({ targetState }) => targetState)}::target_state[], ${of(({ destroy }) => destroy)}::boolean[],
        ${of(({ moves }) => moves)}::boolean[]
      ) AS new(id, label, target_state, destroy, moves) WHERE instances.id = new.id`)
    await recordEvents(
      tx,
      changes.flatMap(change => eventsOf(actor, change)),
      at,
    )
    return changes.filter(({ moves }) => moves).map(({ machineId }) => machineId)
  }
}

type Locked = { subject: Subject; machineId: number }
type Written = { subject: Subject; label: string | null; targetState: TargetState; destroy: boolean }

function eventsOf({ accountId, apiKeyId }: Actor, { subject, label, targetState, destroy }: Written): NewEvent[] {
  const event = { accountId, apiKeyId, instanceId: subject.id, reason: 'USER_REQUEST' }
  const [oldState, newState] = [{ targetState: subject.targetState }, { targetState }]
  const [oldLabel, newLabel] = [{ label: subject.label }, { label }]
  return [
    ...(destroy ? [{ ...event, type: 'INSTANCE_DESTROYED' as const }] : []),
    ...(targetState !== subject.targetState
      ? [{ ...event, type: 'INSTANCE_TARGET_CHANGED' as const, before: oldState, after: newState }]
      : []),
    ...(label !== subject.label
      ? [{ ...event, type: 'INSTANCE_LABEL_CHANGED' as const, before: oldLabel, after: newLabel }]
      : []),
  ]
}
