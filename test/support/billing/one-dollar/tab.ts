// The tab of a renter: what quotes allow an account to owe. It is counted from the quotes, the answers to the renter's
// commands, and what the renter sees.

import { expect } from 'vitest'

const partsPerNano = 3_600_000n

/** What the renter sees of a living instance or volume. */
export type Seen = {
  id: string
  priceNanos: bigint
  diskNanos: bigint
  status?: string
  targetState?: string
  accruedNanos?: bigint
  endsAtMs?: number
  /** The instance in whose place it was rented, and those before that. */
  ancestors?: string[]
}
export type View = { creditNanos: bigint; items: Map<string, Seen> }

/** Prices per hour. Instances in the place of this one may cost up to `mostNanos`. */
export type Quoted = { gpuNanos: bigint; diskNanos: bigint; mostNanos?: bigint; endsAtMs?: number }

type Cost = { most: bigint; least: bigint; isCertain: boolean }

export type Item = {
  id: string
  gpuNanos: bigint
  diskNanos: bigint
  mostNanos: bigint | undefined
  /** All prices that its GPUs had, and the bids that may be the next one. */
  gpuPrices: Set<bigint>
  bids: Set<bigint>
  wantsToRun: boolean
  isGone: boolean
  stopAtMs: number | null
  destroyAtMs: number | null
  endsAtMs: number
  /** What it may and must have cost, in parts of a nano-dollar. */
  gpu: Cost
  disk: Cost
}

/** Between the two views, no work was due if the gateways work on time. */
export type Interval = { from: number; to: number; isWorking: boolean; before: View; after: View }

export type Tab = ReturnType<typeof createTab>

const isLost = (seen: Seen | undefined) => seen?.status === 'UNKNOWN' || seen?.status === 'OFFLINE'
const costParts = (rateNanos: bigint, from: number, to: number) => rateNanos * BigInt(Math.max(0, to - from))
const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)
const largest = (one: bigint, other: bigint) => (one > other ? one : other)

export function createTab(creditNanos: bigint, debtGraceMs: number) {
  let grantedNanos = creditNanos
  let lateMs = 0
  let mostDiskNanos = 0n
  /** What disks may have cost since the credit was last above zero. */
  let debtParts = 0n
  const items = new Map<string, Item>()
  const all = () => [...items.values()]
  const living = () => all().filter(({ isGone }) => !isGone)
  const diskRate = () => sum(living().map(({ diskNanos }) => diskNanos))

  function add(id: string, quoted: Quoted, wantsToRun: boolean): void {
    if (items.has(id)) return
    const cost = (isCertain: boolean) => ({ most: 0n, least: 0n, isCertain })
    items.set(id, {
      ...{ id, gpuNanos: quoted.gpuNanos, diskNanos: quoted.diskNanos, mostNanos: quoted.mostNanos },
      ...{ gpuPrices: new Set([quoted.gpuNanos]), bids: new Set(), wantsToRun, isGone: false },
      ...{ stopAtMs: null, destroyAtMs: null, endsAtMs: quoted.endsAtMs ?? Number.POSITIVE_INFINITY },
      // The disk of an instance that is replaced before it runs costs nothing.
      ...{ gpu: cost(true), disk: cost(quoted.mostNanos === undefined) },
    })
    mostDiskNanos = largest(mostDiskNanos, diskRate())
  }

  function spendGpu(one: Item, { from, isWorking, before }: Interval, end: number): void {
    const status = before.items.get(one.id)?.status
    if (!one.wantsToRun) return
    const parts = costParts(one.gpuNanos, from, Math.min(end, one.stopAtMs ?? end))
    if (!isWorking || status === 'RUNNING' || status === 'STOPPING') one.gpu.most += parts
    if (isWorking && status === 'RUNNING') one.gpu.least += parts
  }

  function spendDisk(one: Item, { from, isWorking, before, after }: Interval, end: number): void {
    const [seen, then] = [before.items.get(one.id), after.items.get(one.id)]
    if (isLost(seen)) return
    const parts = costParts(one.diskNanos, from, end)
    one.disk.most += parts
    if ((isWorking || then) && !isLost(then)) one.disk.least += parts
  }

  /** Policies count from their instants, however late the gateways work. */
  function applyPolicies(one: Item, now: number): void {
    if (one.stopAtMs !== null && one.stopAtMs <= now) Object.assign(one, { wantsToRun: false, stopAtMs: null })
    if (Math.min(one.destroyAtMs ?? Number.POSITIVE_INFINITY, one.endsAtMs) <= now) one.isGone = true
  }

  /** The ancestors never ran, so they cost nothing. */
  function addReplacement({ id, ancestors = [], priceNanos, diskNanos, endsAtMs }: Seen): void {
    const origin = ancestors.map(ancestor => items.get(ancestor)).find(one => one !== undefined)
    if (!origin) expect.fail(`${id} exists, and nobody rented it`)
    expect(priceNanos, `the price of ${id}, in the place of ${origin.id}`).toBeLessThanOrEqual(origin.mostNanos ?? 0n)
    for (const cost of [origin.gpu, origin.disk]) Object.assign(cost, { most: 0n, isCertain: false })
    const quoted = { gpuNanos: priceNanos - diskNanos, diskNanos, mostNanos: origin.mostNanos as bigint }
    add(id, { ...quoted, ...(endsAtMs !== undefined && { endsAtMs }) }, true)
  }

  function checkPrice(one: Item, { priceNanos, diskNanos }: Seen): void {
    const gpuNanos = priceNanos - diskNanos
    expect([one.gpuNanos, ...one.bids], `the price of ${one.id}`).toContain(gpuNanos)
    expect(diskNanos, `the price of the disk of ${one.id}`).toBe(one.diskNanos)
    one.gpuNanos = gpuNanos
    one.gpuPrices.add(gpuNanos)
    one.bids.clear()
  }

  return {
    all,
    living,
    add,
    find: (id: string) => items.get(id),
    change: (id: string, change: Partial<Item>) => Object.assign(items.get(id) as Item, change),
    bid(id: string, bidNanos: bigint): void {
      const one = items.get(id) as Item
      one.bids.add(bidNanos)
      if (one.mostNanos !== undefined) one.mostNanos = largest(one.mostNanos, bidNanos + 2n * one.diskNanos)
    },
    grant(nanos: bigint): void {
      grantedNanos += nanos
    },
    pass(interval: Interval): void {
      const { from, to, isWorking, before } = interval
      if (before.creditNanos > 0n) debtParts = 0n
      debtParts += diskRate() * BigInt(to - from)
      if (!isWorking) lateMs += to - from
      for (const one of living()) {
        const end = Math.min(to, one.destroyAtMs ?? to, one.endsAtMs)
        spendGpu(one, interval, end)
        spendDisk(one, interval, end)
        applyPolicies(one, to)
      }
    },
    /** Takes over what ended by itself, and replacements. Nothing else may begin by itself. */
    look({ items: seen }: View): void {
      for (const one of seen.values()) if (!items.has(one.id)) addReplacement(one)
      for (const one of living()) {
        const found = seen.get(one.id)
        if (!found) one.isGone = true
        else checkPrice(one, found)
        if (found?.targetState === 'STOPPED') one.wantsToRun = false
      }
    },
    /** The laws that what the renter sees must keep. */
    lawsOf({ creditNanos, items: seen }: View): Record<string, boolean> {
      const owedParts = (grantedNanos - creditNanos) * partsPerNano
      const mostOf = ({ gpu, disk }: Item) => gpu.most + disk.most
      const leastOf = ({ gpu, disk }: Item) => (gpu.isCertain ? gpu.least : 0n) + (disk.isCertain ? disk.least : 0n)
      // The last fraction of each meter is not charged.
      const droppedParts = 2n * partsPerNano
      const accrued = all().flatMap(one => {
        const nanos = seen.get(one.id)?.accruedNanos
        return nanos === undefined ? [] : [{ one, parts: nanos * partsPerNano }]
      })
      return {
        'owes at most what its quotes promised for the time so far': owedParts <= sum(all().map(mostOf)),
        'owes what ran at its price': owedParts + droppedParts * BigInt(items.size) >= sum(all().map(leastOf)),
        'has instances that cost at most what their quotes promised': accrued.every(
          ({ one, parts }) => parts <= mostOf(one),
        ),
        'has instances that cost what ran at its price': accrued.every(
          ({ one, parts }) => parts + droppedParts >= leastOf(one),
        ),
        'owes beyond its credit for disks alone': -creditNanos * partsPerNano <= debtParts,
        'is in debt for no longer than the grace period':
          -creditNanos * partsPerNano <= mostDiskNanos * BigInt(debtGraceMs + lateMs),
        'owes no more beyond its credit than it was ever given': lateMs > 0 || -creditNanos <= grantedNanos,
      }
    },
  }
}
