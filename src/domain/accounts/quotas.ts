// Limits on what one account has at a time.

export const quotaNames = ['instances', 'loading', 'diskGb', 'volumes'] as const
/** `loading`: instances that hold GPUs or are about to, and do not run yet. `diskGb`: instance disks plus volumes. */
export type Quota = (typeof quotaNames)[number]
export type Quotas = Record<Quota, number>
/** An operator's limits for one account; null means that the gateway's setting applies. */
export type QuotaOverrides = Record<Quota, number | null>

export type QuotaUsage = { instances: number; loading: number; diskMb: number; volumes: number }

export type ExceededQuota = { name: Quota; limit: number; used: number; asked: number }

export function quotasOf(overrides: QuotaOverrides, settings: Quotas): Quotas {
  const entries = quotaNames.map(name => [name, overrides[name] ?? settings[name]] as const)
  return Object.fromEntries(entries) as Quotas
}
