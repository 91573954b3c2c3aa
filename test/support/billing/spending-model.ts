// An account that rents, as the rules of `domain/billing` decide it, beside what its quotes promised. A promise is counted by
// itself: a rate and the time for which the renter wanted what costs it.

import { admissionErrors, completeHoldings, sumHoldings } from '../../../src/domain/billing/admission.ts'
import {
  type Balance,
  type ChargeKind,
  calculateMeterCharge,
  creditStatusOf,
  partsPerNano,
} from '../../../src/domain/billing/balance.ts'
import {
  type AccountFacts,
  type BillingAction,
  changesNotes,
  decideNotices,
  midnightBefore,
  type NoticeState,
  nextBillingAction,
  nextDueAt,
} from '../../../src/domain/billing/due.ts'
import { defaultAdmission } from './admission.ts'

const unlimited = { instances: 1e9, loading: 1e9, diskGb: 1e9, volumes: 1e9 }

type Meter = { kind: ChargeKind; rateNanos: bigint; since: Date; carried: number; end: null }
type Promised = { rateNanos: bigint; from: number; to: number | null }

/** A rental or, without a price, a volume. */
export type Rented = {
  gpuPriceNanos: bigint
  diskNanos: bigint
  isVolume: boolean
  wants: 'running' | 'stopped' | 'gone'
  isOnMachine: boolean
  gpu: Meter | undefined
  disk: Meter | undefined
  promised: { gpu: Promised | undefined; disk: Promised }
}

export type SpendingModel = ReturnType<typeof createSpendingModel>

export function createSpendingModel(creditNanos: bigint, start: number) {
  let now = start
  let postedNanos = creditNanos
  let grantedNanos = creditNanos
  let mostDiskNanos = 0n
  const rented: Rented[] = []
  const promises: Promised[] = []
  let notes: NoticeState = { creditEndedAt: null, lowCreditHours: null, debtSince: null, debtWarnedAt: null }

  const date = () => new Date(now)
  const living = () => rented.filter(({ wants }) => wants !== 'gone')
  const meters = () => rented.flatMap(({ gpu, disk }) => [gpu, disk]).filter(meter => meter !== undefined)

  function promise(rateNanos: bigint): Promised {
    const made = { rateNanos, from: now, to: null }
    promises.push(made)
    return made
  }

  function close(promised: Promised | undefined): void {
    if (promised) promised.to ??= now
  }

  function balance(): Balance {
    const all = meters()
    const sum = (kind: ChargeKind, value: (meter: Meter) => bigint) =>
      all.filter(meter => meter.kind === kind).reduce((total, meter) => total + value(meter), 0n)
    const origin = ({ rateNanos, since, carried }: Meter) => rateNanos * BigInt(since.getTime()) - BigInt(carried)
    const meteredAt = new Date(Math.max(start, ...all.map(({ since }) => since.getTime())))
    return {
      at: new Date(Math.max(now, meteredAt.getTime())),
      meteredAt,
      postedNanos,
      gpuRateNanos: sum('gpu', ({ rateNanos }) => rateNanos),
      gpuOrigin: sum('gpu', origin),
      diskRateNanos: sum('disk', ({ rateNanos }) => rateNanos),
      diskOrigin: sum('disk', origin),
      ends: [],
    }
  }

  function charge(meter: Meter, until: Date): Meter {
    const { amountNanos, periodEnd, ms } = calculateMeterCharge(meter, until)
    postedNanos -= amountNanos
    const carried = Number((meter.rateNanos * BigInt(ms) + BigInt(meter.carried)) % partsPerNano)
    return { ...meter, since: new Date(Math.max(periodEnd.getTime(), meter.since.getTime())), carried }
  }

  const begin = (kind: ChargeKind, rateNanos: bigint): Meter => ({
    ...{ kind, rateNanos, since: date(), carried: 0, end: null },
  })

  /** Ends what GPUs cost: now, or when the credit ended. */
  function endGpu(one: Rented, at = date()): void {
    if (one.gpu) charge(one.gpu, at)
    one.gpu = undefined
  }

  function endDisk(one: Rented): void {
    if (one.disk) charge(one.disk, date())
    one.disk = undefined
  }

  function leave(one: Rented): void {
    endGpu(one)
    endDisk(one)
    one.wants = 'gone'
    close(one.promised.gpu)
    close(one.promised.disk)
  }

  function leaveAll(isVolume: boolean): void {
    for (const one of living()) if (one.isVolume === isVolume) leave(one)
  }

  /** Whether the account may add this to what it has. */
  function admits(added: { gpuPriceNanos?: bigint; diskNanos?: bigint }): boolean {
    const held = sumHoldings(
      living().map(({ wants, gpuPriceNanos, diskNanos }) =>
        completeHoldings({ gpuPriceNanos: wants === 'running' ? gpuPriceNanos : 0n, diskNanos }),
      ),
    )
    const { creditNanos } = creditStatusOf(balance())
    const facts = {
      at: date(),
      disabled: null,
      creditNanos,
      held,
      quotas: unlimited,
      failures: { count: 0, lastAt: null },
    }
    return admissionErrors(facts, completeHoldings(added), defaultAdmission).length === 0
  }

  function facts(): AccountFacts {
    const creditStatus = creditStatusOf(balance())
    const since = meters().map(meter => meter.since.getTime())
    const has = (test: (one: Rented) => boolean) => living().some(test)
    return {
      accountId: 1,
      at: balance().at,
      creditStatus,
      ...notes,
      hasInstancesToStop: creditStatus.hasEnded && has(({ wants }) => wants === 'running'),
      hasEnds: false,
      chargedUntil: since.length > 0 ? new Date(Math.min(...since)) : null,
      debtTargets: {
        hasInstances: has(({ isVolume }) => !isVolume),
        hasVolumes: has(({ isVolume }) => isVolume),
      },
    }
  }

  const actions: Record<BillingAction, () => void> = {
    stop() {
      const { endsAt } = creditStatusOf(balance())
      for (const one of living()) {
        if (one.wants !== 'running') continue
        endGpu(one, endsAt ?? date())
        one.wants = 'stopped'
        close(one.promised.gpu)
      }
    },
    charge() {
      const midnight = midnightBefore(date())
      for (const one of living()) {
        if (one.gpu && one.gpu.since < midnight) one.gpu = charge(one.gpu, midnight)
        if (one.disk && one.disk.since < midnight) one.disk = charge(one.disk, midnight)
      }
    },
    destroyInstances: () => leaveAll(false),
    deleteVolumes: () => leaveAll(true),
  }

  /** Does all billing work that is due now. */
  function work(): void {
    for (;;) {
      const now = facts()
      const action = nextBillingAction(now, defaultAdmission)
      if (action) actions[action]()
      else {
        const decided = decideNotices(now, defaultAdmission).notes
        if (!changesNotes(notes, decided)) return
        notes = decided
      }
    }
  }

  return {
    living,
    work,
    /** Moves the clock. The gateway works on time, or only after all of it. */
    pass(ms: number, isWorking: boolean): void {
      const end = now + ms
      for (let rounds = 0; isWorking && rounds < 1_000; rounds += 1) {
        const due = nextDueAt(facts(), defaultAdmission)
        if (due === null || due.getTime() > end) break
        now = Math.max(now, due.getTime())
        work()
      }
      now = end
    },
    grant(nanos: bigint): void {
      postedNanos += nanos
      grantedNanos += nanos
    },
    rent(gpuPriceNanos: bigint, diskNanos: bigint, { isVolume = false, stopped = false } = {}): void {
      if (!admits({ gpuPriceNanos: stopped ? 0n : gpuPriceNanos, diskNanos })) return
      const wants = stopped || isVolume ? ('stopped' as const) : ('running' as const)
      const promised = { gpu: wants === 'running' ? promise(gpuPriceNanos) : undefined, disk: promise(diskNanos) }
      const disk = begin('disk', diskNanos)
      rented.push({ gpuPriceNanos, diskNanos, isVolume, wants, isOnMachine: true, gpu: undefined, disk, promised })
      const diskRate = balance().diskRateNanos
      if (diskRate > mostDiskNanos) mostDiskNanos = diskRate
    },
    /** The GPUs are granted and the container runs. */
    run(one: Rented): void {
      if (one.wants === 'running' && one.isOnMachine && !facts().creditStatus.hasEnded)
        one.gpu ??= begin('gpu', one.gpuPriceNanos)
    },
    /** Another bid takes the GPUs, or the container reboots. */
    interrupt: (one: Rented) => endGpu(one),
    start(one: Rented): void {
      if (one.wants !== 'stopped' || one.isVolume || !admits({ gpuPriceNanos: one.gpuPriceNanos })) return
      one.wants = 'running'
      one.promised.gpu = promise(one.gpuPriceNanos)
    },
    stop(one: Rented): void {
      if (one.wants !== 'running') return
      endGpu(one)
      one.wants = 'stopped'
      close(one.promised.gpu)
    },
    bid(one: Rented, bidNanos: bigint): void {
      const raisedNanos = bidNanos - one.gpuPriceNanos
      if (one.isVolume || (one.wants === 'running' && raisedNanos > 0n && !admits({ gpuPriceNanos: raisedNanos })))
        return
      one.gpuPriceNanos = bidNanos
      if (one.gpu) one.gpu = { ...charge(one.gpu, date()), rateNanos: bidNanos }
      if (one.wants !== 'running') return
      close(one.promised.gpu)
      one.promised.gpu = promise(bidNanos)
    },
    /** The machine is silent for good: nothing costs from then on. */
    lose(one: Rented): void {
      endGpu(one)
      endDisk(one)
      one.isOnMachine = false
    },
    destroy: leave,
    figures() {
      const { creditNanos } = creditStatusOf(balance())
      const promisedParts = promises.reduce(
        (sum, { rateNanos, from, to }) => sum + rateNanos * BigInt(Math.max(0, (to ?? now) - from)),
        0n,
      )
      return { creditNanos, grantedNanos, owedNanos: grantedNanos - creditNanos, promisedParts, mostDiskNanos }
    },
  }
}
