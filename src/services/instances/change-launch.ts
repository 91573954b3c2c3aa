import { Prisma } from '../../database/generated/client.ts'
import { bool, bytea, enumeration, int4, jsonb, nullable, text, timestamptz } from '../../database/row-types.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { requireLiving } from '../../domain/instances/actions.ts'
import { type CurrentLaunch, changeLaunch, restartAfterLaunchChange } from '../../domain/instances/change-launch.ts'
import type { LaunchConfig } from '../../domain/instances/instances.ts'
import type { InstanceStatus, Restart, TargetState } from '../../domain/instances/states.ts'
import { restoreSecrets, splitSecrets } from '../../domain/launch/env.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import type { TemplateReference } from '../../domain/templates/templates.ts'
import { authorize } from '../authorize.ts'
import { lockAccount } from '../billing/balance.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { makeInstancesDue } from '../reconciliation/due.ts'
import { openJson, sealJson } from '../secrets.ts'
import { loadTemplatesForLaunch } from '../templates/rent.ts'
import { admitRestart } from './admission.ts'
import { bindMissingPorts, lockMissingPorts } from './ports.ts'

const { sql } = Prisma

type ChangeLaunchInput = {
  launch: LaunchInput
  /** The base template. */
  template?: Exclude<TemplateReference, { name: string }> | undefined
  /** Make the container anew at once. */
  recycle: boolean
}

export function changeLaunchServices(deps: Deps) {
  const { database, secrets, admission } = deps

  return {
    /** Changes the launch from which the next container of an instance is made. */
    async changeLaunch(actor: Actor, id: bigint, input: ChangeLaunchInput): Promise<void> {
      authorize(actor, 'instances.changeLaunch', { id: Number(id) })
      if (input.recycle) authorize(actor, 'instances.recycle', { id: Number(id) })
      await transaction(database, async tx => {
        const template = await loadTemplate(tx, actor, input)
        const missing = await lockMissingPorts(tx, deps, actor.accountId, id)
        const { at } = tx
        const { templateId, templateHash, restart, hasRun, targetState, ...current } = await lockLaunch(tx, actor, id)
        const { launch, registry } = changeLaunch(current, template?.launch, input.launch)
        const { env, secrets: values } = splitSecrets(launch.env)
        const restartNow = restartAfterLaunchChange(input.recycle, hasRun, restart)
        if (restartNow === 'recycle') {
          if (missing) await bindMissingPorts(tx, missing, id)
          const account = await lockAccount(tx, actor.accountId, at)
          await admitRestart(tx, admission, account, { id, status: current.status, targetState })
        }
        await tx.execute(sql`
          UPDATE instances SET launch = ${JSON.stringify({ ...launch, env })}::jsonb,
            registry_login = ${sealJson(secrets, registry)}::bytea, secret_env = ${sealJson(secrets, values)}::bytea,
            template_id = coalesce(${template?.id ?? null}::int, template_id),
            template_hash = coalesce(${template?.hash ?? null}, template_hash),
            restart = ${restartNow}::restart
          WHERE id = ${id}`)
        await makeInstancesDue(tx, [id], at)
        const { accountId } = actor
        const before = { image: current.launch.image, templateId, templateHash }
        const after = {
          image: launch.image,
          templateId: template?.id ?? templateId,
          templateHash: template?.hash ?? templateHash,
        }
        const about = { accountId, actor: apiKeyActor(actor), instanceId: id, reason: 'USER_REQUEST' as const }
        const changed = { kind: 'INSTANCE_LAUNCH_CHANGED' as const, ...about, before, after }
        const recycled = input.recycle ? [{ kind: 'INSTANCE_RECYCLED' as const, ...about }] : []
        await recordEvents(tx, [changed, ...recycled], at)
      })
    },
  }

  async function loadTemplate(tx: Transaction, actor: Actor, { template: reference }: ChangeLaunchInput) {
    if (reference === undefined) return undefined
    const [template] = await loadTemplatesForLaunch(tx, secrets, actor, reference)
    if (!template) throw new DomainError('NOT_FOUND', 'Template not found.', { subject: null })
    return template
  }

  async function lockLaunch(
    tx: Transaction,
    { accountId }: Actor,
    id: bigint,
  ): Promise<
    CurrentLaunch & {
      templateId: number | null
      templateHash: string | null
      restart: Restart | null
      hasRun: boolean
      targetState: TargetState
    }
  > {
    const [found] = await tx.query(
      sql`
        SELECT status, launch, registry_login, secret_env, disk_mb, template_id, template_hash, restart,
          started_at IS NOT NULL AS has_run, target_state, destroyed_at FROM instances
        WHERE id = ${id} AND account_id = ${accountId} FOR NO KEY UPDATE`,
      {
        ...{ status: enumeration<InstanceStatus>(), targetState: enumeration<TargetState>(), hasRun: bool },
        ...{ launch: jsonb<LaunchConfig>(), registryLogin: nullable(bytea), secretEnv: nullable(bytea), diskMb: int4 },
        ...{ templateId: nullable(int4), templateHash: nullable(text), restart: nullable(enumeration<Restart>()) },
        destroyedAt: nullable(timestamptz),
      },
    )
    const { launch: config, registryLogin, secretEnv, ...state } = requireLiving(id, found)
    const values = openJson<Record<string, string>>(secrets, secretEnv) ?? {}
    const launch = { ...config, env: restoreSecrets(config.env, values) }
    const registry = openJson<Registry>(secrets, registryLogin) ?? undefined
    return { id, launch, registry, ...state }
  }
}
