import { DomainError } from '../errors.ts'
import { type ExceededQuota, type Quota, type Quotas, type QuotaUsage, quotaNames } from './quotas.ts'

/** The quotas that an addition would exceed. An account above a quota keeps what it has and cannot add to it. */
export function quotaErrors(used: QuotaUsage, added: QuotaUsage, quotas: Quotas): DomainError<'QUOTA_EXCEEDED'>[] {
  return quotaNames.flatMap(name => {
    const [usedNow, asked, limit] = [amountOf(used, name), amountOf(added, name), quotas[name]]
    // Compared in MB: sums of fractional GB are not exact.
    if (asked <= 0 || usedNow + asked <= limit * unitOf(name)) return []
    const unit = unitOf(name)
    return [exceeded({ name, limit, used: usedNow / unit, asked: asked / unit })]
  })
}

const mbPerGb = 1000
const unitOf = (name: Quota) => (name === 'diskGb' ? mbPerGb : 1)

function amountOf(usage: QuotaUsage, name: Quota): number {
  return name === 'diskGb' ? usage.diskMb : usage[name]
}

const quotaNouns: Record<Quota, string> = {
  instances: 'instances',
  loading: 'instances loading at a time',
  diskGb: 'GB of disks and volumes',
  volumes: 'volumes',
}

function exceeded(quota: ExceededQuota): DomainError<'QUOTA_EXCEEDED'> {
  const { name, limit, used, asked } = quota
  const message = `The account may have at most ${limit} ${quotaNouns[name]}. It has ${used}, and this request adds ${asked}.`
  return new DomainError('QUOTA_EXCEEDED', message, { quota })
}
