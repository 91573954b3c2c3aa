// The row of a rented instance.

import type { Actor } from '../../../domain/actor.ts'
import { mergePolicy } from '../../../domain/instances/policy/change.ts'
import { nextPolicyAction } from '../../../domain/instances/policy/policy.ts'
import { splitSecrets } from '../../../domain/launch/env.ts'
import { diskPricePerHour } from '../../../domain/money.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import type { LockedMarket } from './facts.ts'
import type { DecidedRental, RentalMarket } from './market.ts'

/** A decided rental, with who rents and what the rental changes on its machine. */
export type Saving = { actor: Actor; rental: DecidedRental; market: RentalMarket; locked: LockedMarket }

export function instanceRow(secrets: Secrets, { actor, rental, locked: { instanceId } }: Saving, at: Date) {
  const { input, template, launch, offer, machine, gpuPriceNanos, idempotencyKey } = rental
  const { diskMb, label, targetState, vm, registry, volumes: _, newVolumes: __, ...settings } = launch
  const { env, secrets: secretEnv } = splitSecrets(settings.env)
  const lifetime = { createdAt: at, endsAt: machine.listedUntil, destroyedAt: null, announcedAt: null }
  const policy = mergePolicy(input.policy ?? {})
  const { replacement } = input
  const replaced = replacement?.replaced
  const replacing = { replaceSeconds: replacement?.withinSeconds ?? null, startedAt: null, startFailed: false }
  const state = { targetState, claimedAt: at, status: 'created' as const, statusChangedAt: at, gpuPriceNanos }
  return {
    id: instanceId,
    ...lifetime,
    ...policy,
    ...state,
    // The instance is not charged yet. If there is a policy, `savePrepared` computes the next action again once the
    // meters are open.
    policyDueAt:
      nextPolicyAction({ ...lifetime, ...policy, ...state, ...replacing, idledSeconds: null, meters: [] }, at)?.at ??
      null,
    replaceSeconds: replacing.replaceSeconds,
    replaceAttempts: replacement?.attemptsLeft ?? null,
    replaceSearch: replacement?.search ?? null,
    replacesId: replaced?.id ?? null,
    accountId: actor.accountId,
    apiKeyId: actor.apiKeyId,
    machineId: machine.id,
    offerId: offer.id,
    firstGpu: offer.firstGpu,
    numGpus: offer.numGpus,
    label,
    vm,
    templateId: template?.id ?? replaced?.templateId ?? null,
    templateHash: template?.hash ?? replaced?.templateHash ?? null,
    launch: { ...settings, env, sources: replaced?.sources ?? settings.sources },
    registryLogin: sealJson(secrets, registry),
    secretEnv: sealJson(secrets, secretEnv),
    idempotencyKey,
    diskMb,
    interruptible: input.terms.interruptible,
    diskPricePerGbMonthNanos: machine.diskPricePerGbMonthNanos,
    diskNanos: diskPricePerHour(machine.diskPricePerGbMonthNanos, diskMb),
  }
}
