// Random sequences of what happens to an account with one dollar.

import fc from 'fast-check'

const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000]

/** How often a request is sent, and whether it has an idempotency key. `twins` are sent at once, to two gateways. */
const repeats = ['once', 'once', 'twice', 'twice with a key', 'twins with a key'] as const
export type Repeat = (typeof repeats)[number]

const commandNames = ['start', 'stop', 'destroy', 'reboot', 'recycle', 'label'] as const
type CommandName = (typeof commandNames)[number]

export type PolicyChange =
  | { field: 'stopAt' | 'destroyAt'; afterMs: number | null }
  | { field: 'stopAtCost'; cents: number | null }
  | { field: 'destroyAfterStoppedSeconds'; seconds: number | null }

/** A request of the renter. A pick is taken modulo the number of choices. */
export type Request =
  | {
      do: 'rent'
      pick: number
      bidNanos: bigint | null
      diskGb: number
      isStopped: boolean
      volume: 'none' | 'new' | 'own'
      repeat: Repeat
    }
  | { do: 'rentBest'; bidNanos: bigint | null; diskGb: number; startsNever: boolean; repeat: Repeat }
  | { do: CommandName; pick: number; times: number }
  | { do: 'startAll' | 'stopAll' }
  | { do: 'bid'; pick: number; bidNanos: bigint }
  | { do: 'policy'; pick: number; change: PolicyChange }
  | { do: 'createVolume'; machine: number; sizeGb: number; repeat: Repeat }
  | { do: 'deleteVolume'; pick: number }
  | { do: 'limit'; action: string; window: string; cents: number }

export type Step =
  | Request
  /** Two requests at once, each to another gateway. */
  | { do: 'both'; requests: [Request, Request] }
  | { do: 'outbid'; pick: number; bidNanos: bigint | null }
  | { do: 'rivalLeaves' }
  | { do: 'exit'; pick: number }
  | { do: 'unplug' | 'plug'; machine: number }
  | { do: 'grant'; nanos: bigint }
  /** The gateways work on time, or not until the end of this time. */
  | { do: 'pass'; ms: number; isWorking: boolean; gateway: number }

const pick = fc.nat(20)
const nanos = (min: number, max: number) => fc.integer({ min, max }).map(milli => BigInt(milli) * 1_000_000n + 7n)
const bids = fc.oneof(nanos(30, 250), nanos(30, 250), nanos(200, 900))
const sizes = fc.oneof(
  { weight: 3, arbitrary: fc.constant(8) },
  { weight: 1, arbitrary: fc.integer({ min: 8, max: 60 }) },
)
const repeat = fc.constantFrom(...repeats)
const cents = fc.integer({ min: 1, max: 150 })
const soonMs = fc.oneof(fc.integer({ min: 1, max: minute }), fc.integer({ min: 1, max: 6 * hour }))
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null, freq: 4 })

const rent = fc.record({
  do: fc.constant('rent' as const),
  pick,
  bidNanos: fc.option(bids, { nil: null, freq: 1 }),
  diskGb: sizes,
  isStopped: fc.nat(7).map(number => number === 0),
  volume: fc.constantFrom('none' as const, 'none' as const, 'new' as const, 'own' as const),
  repeat,
})
const rentBest = fc.record({
  do: fc.constant('rentBest' as const),
  bidNanos: fc.option(bids, { nil: null, freq: 1 }),
  diskGb: sizes,
  startsNever: fc.nat(2).map(number => number === 0),
  repeat,
})
const command = fc.record({
  do: fc.constantFrom<CommandName>(...commandNames, 'start', 'start', 'stop'),
  pick,
  times: fc.constantFrom(1, 1, 2),
})
const change: fc.Arbitrary<PolicyChange> = fc.oneof(
  fc.record({ field: fc.constantFrom('stopAt' as const, 'destroyAt' as const), afterMs: orNull(soonMs) }),
  fc.record({ field: fc.constant('stopAtCost' as const), cents: orNull(cents) }),
  fc.record({
    field: fc.constant('destroyAfterStoppedSeconds' as const),
    seconds: orNull(fc.integer({ min: 60, max: 7_200 })),
  }),
)
const createVolume = fc.record({
  do: fc.constant('createVolume' as const),
  machine: pick,
  sizeGb: fc.integer({ min: 1, max: 60 }),
  repeat,
})
const limit = fc.record({
  do: fc.constant('limit' as const),
  action: fc.constantFrom('BLOCK_NEW', 'STOP_RUNNING', 'STOP_RUNNING', 'NOTIFY'),
  window: fc.constantFrom('HOUR', 'DAY', 'MONTH'),
  cents,
})

const request: fc.Arbitrary<Request> = fc.oneof(
  { weight: 8, arbitrary: rent },
  { weight: 3, arbitrary: rentBest },
  { weight: 10, arbitrary: command },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('startAll' as const, 'stopAll' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('bid' as const), pick, bidNanos: bids }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('policy' as const), pick, change }) },
  { weight: 2, arbitrary: createVolume },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deleteVolume' as const), pick }) },
  { weight: 1, arbitrary: limit },
)

/** Which of two policies at once is the later one is not known. */
const pair = fc.tuple(request, request).filter(both => both.some(one => one.do !== 'policy'))

const pass = fc.record({
  do: fc.constant('pass' as const),
  ms: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2 * minute }) },
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 3 * hour }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: day }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 * day }) },
  ),
  isWorking: fc.constantFrom(true, true, true, false),
  gateway: fc.nat(1),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 18, arbitrary: request },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('both' as const), requests: pair }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('outbid' as const), pick, bidNanos: fc.option(bids, { nil: null }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rivalLeaves' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('exit' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('unplug' as const, 'plug' as const), machine: pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('grant' as const), nanos: fc.bigInt(1n, 600_000_000n) }),
  },
  { weight: 12, arbitrary: pass },
)

/** The renter begins with a rental, so that few sequences cost nothing. */
export const sequences: fc.Arbitrary<Step[]> = fc
  .tuple(rent, fc.array(step, { minLength: 8, maxLength: 32, size: 'max' }))
  .map(([first, others]) => [first, ...others])

export const printSteps = (steps: unknown) =>
  JSON.stringify(steps, (_name, value) =>
    typeof value === 'bigint' ? String(value) : value instanceof Set ? [...value] : value,
  )
