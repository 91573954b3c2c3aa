// The request that rents another instance in place of one: with its settings as they are now, and the search of its first
// rental.

import { Prisma } from '../../../database/generated/client.ts'
import {
  bool,
  bytea,
  enumeration,
  int2,
  int4,
  int8,
  jsonb,
  nullable,
  type RowOf,
  text,
  timestamptz,
} from '../../../database/row-types.ts'
import { columnsSql } from '../../../database/rows.ts'
import type { Statements } from '../../../database/statements.ts'
import { currentLaunchInput } from '../../../domain/instances/change-launch.ts'
import type { LaunchConfig } from '../../../domain/instances/instances.ts'
import type { PolicyInput } from '../../../domain/instances/policy/change.ts'
import { attemptInput, type RentBestOfferInput, searchOf } from '../../../domain/instances/rent/best-offer.ts'
import type { RentalTerms, RentInput } from '../../../domain/instances/rent/decide.ts'
import type { InstanceStatus } from '../../../domain/instances/states.ts'
import { restoreSecrets } from '../../../domain/launch/env.ts'
import type { Registry } from '../../../domain/launch/registry.ts'
import { openJson, type Secrets } from '../../secrets.ts'

const replacedRow = {
  ...{ id: int8, accountId: int4, apiKeyId: int4, machineId: int4, label: nullable(text), vm: bool, diskMb: int4 },
  ...{ templateId: nullable(int4), templateHash: nullable(text), launch: jsonb<LaunchConfig>() },
  ...{ registryLogin: nullable(bytea), secretEnv: nullable(bytea), idempotencyKey: nullable(text) },
  ...{ interruptible: bool, gpuPriceNanos: int8, status: enumeration<InstanceStatus>(), reasonCode: nullable(text) },
  ...{ stopAt: nullable(timestamptz), stopAtCostNanos: nullable(int8), destroyAt: nullable(timestamptz) },
  ...{ destroyStoppedMs: nullable(int8), idleGpuPercent: nullable(int2), idleSeconds: nullable(int4) },
  ...{ replaceSeconds: int4, replaceAttempts: int2, replaceSearch: jsonb<object>() },
}

/** An instance that can be replaced. */
export type Replaced = RowOf<typeof replacedRow>

export async function loadReplaced(from: Pick<Statements, 'query'>, id: bigint): Promise<Replaced> {
  const statement = Prisma.sql`
    SELECT ${columnsSql('i', replacedRow)} FROM instances i WHERE i.id = ${id} AND i.replace_seconds IS NOT NULL`
  const [row] = await from.query(statement, replacedRow)
  if (!row) throw new Error(`The instance ${id} is not one to replace.`)
  return row
}

/** The search for another instance. */
export function bestOfferInputOf(secrets: Secrets, replaced: Replaced): RentBestOfferInput {
  const { label, vm, launch, diskMb, registryLogin, secretEnv } = replaced
  const env = restoreSecrets(launch.env, openJson<Record<string, string>>(secrets, secretEnv) ?? {})
  const registry = openJson<Registry>(secrets, registryLogin) ?? undefined
  const settings = currentLaunchInput({ launch: { ...launch, env }, registry, diskMb })
  const search = searchOf({ search: replaced.replaceSearch })
  return {
    ...search,
    terms: termsOf(search.terms, replaced),
    launch: { ...settings, label: label ?? undefined, vm, targetState: 'running' },
    policy: policyOf(replaced),
  }
}

/** The rental of an offer in place of the instance. */
export function replacementInputOf(input: RentBestOfferInput, replaced: Replaced, offerId: bigint): RentInput {
  const { id, templateId, templateHash, launch, replaceSeconds, replaceAttempts, replaceSearch } = replaced
  return {
    ...attemptInput(input, offerId),
    replacement: {
      ...{ withinSeconds: replaceSeconds, attemptsLeft: replaceAttempts - 1, search: replaceSearch },
      replaced: { id, templateId, templateHash, sources: launch.sources },
    },
  }
}

/** Those of the first rental. A renter who has lowered the bid since does not pay more again. */
function termsOf(terms: RentalTerms, { gpuPriceNanos }: Replaced): RentalTerms {
  return terms.interruptible && gpuPriceNanos < terms.bidNanos ? { ...terms, bidNanos: gpuPriceNanos } : terms
}

/** The policy as it is now; undefined without one. */
function policyOf(replaced: Replaced): PolicyInput | undefined {
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs, idleGpuPercent, idleSeconds } = replaced
  const isIdle = idleGpuPercent !== null && idleSeconds !== null
  const policy: PolicyInput = {
    ...{ stopAt, stopAtCostNanos, destroyAt },
    destroyStoppedSeconds: destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1_000,
    stopWhenIdle: isIdle ? { gpuPercent: idleGpuPercent, seconds: idleSeconds } : null,
  }
  return Object.values(policy).some(value => value !== null) ? policy : undefined
}
