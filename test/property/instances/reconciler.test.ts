import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideChange } from '../../../src/domain/instances/actions.ts'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { instanceStatuses, isFinal } from '../../../src/domain/instances/states.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'
import { createSimulatedProvider } from '../../../src/providers/simulated/provider.ts'
import type { InstanceState } from '../../../src/reconciler/instance-state.ts'
import { makePlan, type Plan } from '../../../src/reconciler/plan.ts'
import { machineError } from '../../../src/reconciler/reasons.ts'
import { containerSpec } from '../../contract/provider.ts'
import { type ManualClock, manualClock } from '../../support/clock.ts'
import { createMemoryWorld } from '../../support/instances/memory-world.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 400)
const timeout = 20_000 + 100 * numRuns

const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
const machineId = 1
const id = 1n
const verbs = ['ensure', 'setSshKeys', 'start', 'stop', 'remove'] as const
type Verb = (typeof verbs)[number]

const keys = fc.shuffledSubarray(['a', 'b', 'c'])
const images = fc.constantFrom(
  ...['ubuntu', 'simulated/not-found', 'simulated/no-start', 'simulated/slow-stop:1000', 'simulated/slow-pull:7200'],
  ...['simulated/slow-start:7200', 'simulated/slow-start:60', 'simulated/crash:100', 'simulated/exit'],
)

/** The state of an instance without durations. */
type Facts = Omit<InstanceState, 'unreachableMs' | 'loadingMs' | 'stoppingMs'>
/** The facts with the stored instants. */
type Row = Facts & { unreachableAt: Date | null; statusChangedAt: Date }

const facts: fc.Arbitrary<Facts> = fc.record({
  targetState: fc.constantFrom('running' as const, 'stopped' as const),
  holdsGpus: fc.boolean(),
  interruptible: fc.boolean(),
  destroyed: fc.boolean(),
  status: fc.constantFrom(...instanceStatuses),
  hasRun: fc.boolean(),
  refused: fc.boolean(),
  restart: fc.constantFrom(null, 'reboot' as const, 'recycle' as const, 'anew' as const),
  targetReason: fc.constantFrom(null, 'USER_REQUEST', 'NO_CREDIT'),
  targetMessage: fc.constant(null),
  sshKeys: fc.option(keys),
})

const observations: fc.Arbitrary<Observed> = fc.oneof(
  fc.constantFrom<Observed>(
    { state: 'unreachable' },
    { state: 'absent' },
    { state: 'preparing' },
    { state: 'starting' },
  ),
  fc.constant<Observed>({ state: 'stopping' }),
  fc.record({ state: fc.constantFrom('prepared' as const, 'running' as const, 'stopped' as const), sshKeys: keys }),
  fc.record({ state: fc.constant('exited' as const), exitCode: fc.integer({ min: 0, max: 255 }), sshKeys: keys }),
  fc.record({
    state: fc.constant('failed' as const),
    code: fc.constantFrom('IMAGE_PULL_FAILED' as const, 'START_FAILED' as const),
    message: fc.string(),
  }),
)
const ms = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_600_000 }))
const times = fc.record({ unreachableMs: ms, loadingMs: ms, stoppingMs: ms })

class Refusal extends Error {}

function createTestBench(image = 'ubuntu') {
  const clock = manualClock()
  const { world, ...tricks } = createMemoryWorld()
  const provider = createSimulatedProvider({ world, now: clock.now, delayFactor: 1 })
  const signal = AbortSignal.timeout(60_000)
  const ref = { machineId: 1, instanceId: id, accountId: 1 }
  const spec = { ...containerSpec(id), launch: { ...containerSpec(id).launch, image } }
  let refusals = 0
  let refused: Verb | undefined
  const tell = async (verb: Verb, sshKeys: string[] | null = []) => {
    if (verb === refused) throw new Refusal()
    if (refusals > 0) {
      refusals -= 1
      throw new Refusal()
    }
    if (verb === 'ensure') await provider.ensure(spec, signal)
    else if (verb === 'setSshKeys') await provider.setSshKeys(ref, sshKeys ?? [], signal)
    else await provider[verb](ref, signal)
  }
  return {
    ...{ clock, ...tricks, tell, observe: () => provider.observe(ref, signal) },
    /** Refuses the next `count` steps. */
    refuse: (count: number) => {
      refusals = count
    },
    /** Refuses every step of this kind from now on. */
    refuseEvery: (verb: Verb) => {
      refused = verb
    },
  }
}
type TestBench = ReturnType<typeof createTestBench>

function instanceStateOf({ unreachableAt, statusChangedAt, ...facts }: Row, now: Date): InstanceState {
  const since = (instant: Date | null) => (instant ? now.getTime() - instant.getTime() : 0)
  const loadingMs = since(facts.status === 'loading' ? statusChangedAt : null)
  const stoppingMs = since(facts.status === 'stopping' ? statusChangedAt : null)
  return { ...facts, unreachableMs: since(unreachableAt), loadingMs, stoppingMs }
}

function rowOf(facts: Facts, { clock }: TestBench): Row {
  return { ...facts, unreachableAt: null, statusChangedAt: clock.now() }
}

/** The result of a call to a machine, which may not answer. */
async function callMachine<Answer>(call: Promise<Answer>): Promise<Answer | 'unreachable' | 'refused'> {
  return await call.catch((error: unknown) => {
    if (error instanceof Refusal) return 'refused' as const
    if (error instanceof MachineUnreachable) return 'unreachable' as const
    throw error
  })
}

/** One pass of the reconciler: observes, performs steps, and records the result when no step is left. */
async function runPass(bench: TestBench, row: Row): Promise<{ row: Row; observed: Observed; settled: boolean }> {
  const now = bench.clock.now()
  let instance = instanceStateOf(row, now)
  let cut = false
  for (let turn = 0; turn < 10; turn += 1) {
    const seen = cut ? 'unreachable' : await callMachine(bench.observe())
    const observed: Observed = typeof seen === 'string' ? { state: 'unreachable' } : seen
    const next = makePlan(instance, observed, limits)
    const { step } = next
    if (step === null) return { ...recordPass(row, observed, next, now), observed }
    const answer = await callMachine(bench.tell(step, instance.sshKeys))
    if (answer === 'refused') return { ...recordPass(row, observed, { ...next, reason: machineError }, now), observed }
    cut = answer === 'unreachable'
    if (step === 'start' && !cut) instance = { ...instance, status: 'loading', loadingMs: 0, refused: false }
  }
  throw new Error('The pass did not end.')
}

function recordPass(
  row: Row,
  { state }: Observed,
  { status, reason, settled, restart = row.restart }: Plan,
  now: Date,
) {
  const unreachableAt = state === 'unreachable' ? (row.unreachableAt ?? now) : null
  const statusChangedAt = status === row.status ? row.statusChangedAt : now
  // An instance that just ended gets one more pass.
  const ended = isFinal(status) && !isFinal(row.status)
  const hasRun = row.hasRun || state === 'running'
  const refused = reason?.code === 'MACHINE_ERROR'
  return {
    row: { ...row, status, hasRun, refused, restart, unreachableAt, statusChangedAt },
    settled: settled && !ended,
  }
}

async function converge(bench: TestBench, first: Row) {
  let result = await runPass(bench, first)
  for (let passes = 0; !result.settled; passes += 1) {
    if (passes === 200) throw new Error(`The instance did not converge: ${JSON.stringify(result)}`)
    waitFor(bench.clock, result.observed)
    result = await runPass(bench, result.row)
  }
  return result
}

function waitFor(clock: ManualClock, observed: Observed): void {
  const until = 'until' in observed ? observed.until : undefined
  clock.advance(until ? Math.min(until.getTime() - clock.now().getTime(), 60_000) : 2_000)
}

describe('a plan', () => {
  /** Checks a rule for every instance state, observation and waiting time. */
  function always(rule: (instance: InstanceState, observed: Observed, next: Plan) => void): void {
    const property = fc.property(facts, times, observations, (facts, times, observed) => {
      const instance = { ...facts, ...times }
      rule(instance, observed, makePlan(instance, observed, limits))
    })
    fc.assert(property, { seed, numRuns: numRuns * 25 })
  }
  const mayRun = ({ destroyed, status, targetState, holdsGpus }: InstanceState) =>
    !destroyed && !isFinal(status) && targetState === 'running' && holdsGpus

  it('has no step when it is settled', () => {
    always((_instance, _observed, { step, status, settled }) => {
      expect(instanceStatuses).toContain(status)
      if (settled) expect(step).toBeNull()
    })
  })

  it('changes a status only with a reason, and never changes a final status', () => {
    always((instance, _, { status, reason }) => {
      if (status === instance.status) return
      expect(reason).toMatchObject({ code: expect.any(String), message: expect.any(String) })
      expect(isFinal(instance.status)).toBe(false)
    })
  })

  it('starts only instances that may run', () => {
    always((instance, _, { step }) => {
      if (mayRun(instance)) return
      expect(['ensure', 'setSshKeys', 'start']).not.toContain(step)
    })
  })

  it('removes only containers of destroyed or recycled instances', () => {
    always(({ destroyed, restart }, _, { step }) => {
      if (step === 'remove') expect(destroyed || restart === 'recycle').toBe(true)
    })
  })

  it('starts no instance that a restart must stop first', () => {
    always(({ restart }, { state }, { step }) => {
      if ((restart === 'reboot' || restart === 'recycle') && (step === 'ensure' || step === 'start')) {
        expect([restart, state]).toEqual(['reboot', 'absent'])
      }
    })
  })

  it('has no step for a machine that does not answer, and is not settled', () => {
    always((_, observed, { step, settled }) => {
      if (observed.state === 'unreachable') expect([step, settled]).toEqual([null, false])
    })
  })

  it('marks an instance offline only when its machine was silent for the whole grace period', () => {
    always((instance, { state }, { status }) => {
      if (instance.destroyed || isFinal(instance.status)) return
      expect(status === 'offline').toBe(state === 'unreachable' && instance.unreachableMs >= limits.offlineGraceMs)
    })
  })

  it('applies the start timeout only to an instance that was loading or stopping that long', () => {
    always((instance, _, { reason }) => {
      if (reason?.code !== 'START_TIMEOUT') return
      expect(instance).toMatchObject({ targetState: 'running', holdsGpus: true, destroyed: false })
      const { loadingMs, stoppingMs } = instance
      const ms = { loading: loadingMs, stopping: stoppingMs }[instance.status as string]
      expect(ms).toBeGreaterThanOrEqual(limits.startTimeoutMs)
    })
  })
})

describe('a reconciled instance', () => {
  /** Steps that a crashed gateway or a person at the machine may have left. */
  const pasts = fc.array(
    fc.record({
      verb: fc.constantFrom(...verbs),
      sshKeys: keys,
      waitMs: fc.constantFrom(0, 1_000, 30_000),
      exits: fc.boolean(),
    }),
    { maxLength: 6 },
  )
  type Past = { verb: Verb; sshKeys: string[]; waitMs: number; exits: boolean }[]

  async function liveThrough(world: TestBench, past: Past): Promise<void> {
    for (const { verb, sshKeys, waitMs, exits } of past) {
      await world.tell(verb, sshKeys)
      world.clock.advance(waitMs)
      if (exits) world.exit(id, 1, world.clock.now())
    }
  }

  it(
    'converges from any state in a few steps, and stays settled',
    async () => {
      const property = fc.asyncProperty(facts, images, pasts, fc.boolean(), async (facts, image, past, cut) => {
        const world = createTestBench(image)
        await liveThrough(world, past)
        let first = rowOf(facts, world)
        if (cut) first = await passThroughOutage(world, first)
        const end = await converge(world, first)
        // A running container may end on its own, which the next pass observes.
        if (end.observed.state !== 'running') world.clock.advance(7_200_000)
        const observed = await world.observe()
        expect(makePlan(instanceStateOf(end.row, world.clock.now()), observed, limits)).toMatchObject({
          step: null,
          settled: true,
        })
        expect(makePlan(instanceStateOf(end.row, world.clock.now()), observed, limits).status).toBe(end.row.status)
        checkEnd(end.row, observed, first)
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  it(
    'converges to the same status with and without an outage and a few refused steps',
    async () => {
      // A container that ends on its own may end before a retry, so images of such containers are left out.
      const kinds = images.filter(image => !/crash|exit|no-start/.test(image))
      const refusals = fc.integer({ min: 1, max: 3 })
      const property = fc.asyncProperty(facts, kinds, pasts, refusals, async (facts, image, past, count) => {
        const ends = []
        for (const refused of [0, count]) {
          const world = createTestBench(image)
          await liveThrough(world, past)
          let first = rowOf(facts, world)
          world.refuse(refused)
          if (refused > 0) first = await passThroughOutage(world, (await runPass(world, first)).row)
          ends.push((await converge(world, first)).row.status)
        }
        expect(ends[1]).toBe(ends[0])
      })
      await fc.assert(property, { seed, numRuns: numRuns * 4 })
    },
    timeout,
  )

  it(
    'runs or ends, and does not hold its GPUs forever, when its machine always refuses one step',
    async () => {
      const living = instanceStatuses.filter(status => !isFinal(status))
      const given = fc.record({
        facts,
        status: fc.constantFrom(...living),
        restart: fc.constantFrom(null, 'reboot' as const, 'recycle' as const, 'anew' as const),
      })
      const refused = fc.constantFrom(...verbs)
      const property = fc.asyncProperty(given, images, pasts, refused, async (given, image, past, verb) => {
        const world = createTestBench(image)
        await liveThrough(world, past)
        const { facts, ...others } = given
        let row = rowOf({ ...facts, ...others, targetState: 'running', holdsGpus: true, destroyed: false }, world)
        world.refuseEvery(verb)
        for (let minutes = 0; minutes < 90; minutes += 1) {
          row = (await runPass(world, row)).row
          world.clock.advance(60_000)
        }
        expect(row.status === 'running' || isFinal(row.status), JSON.stringify(row)).toBe(true)
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  /** The machine does not answer for some passes, and then comes back. */
  async function passThroughOutage(world: TestBench, row: Row): Promise<Row> {
    world.setOut(machineId, true)
    let last = row
    for (let passes = 0; passes < 5; passes += 1) {
      last = (await runPass(world, last)).row
      world.clock.advance(50_000)
    }
    world.setOut(machineId, false)
    return last
  }

  function checkEnd(end: Row, observed: Observed, { destroyed, targetState, holdsGpus, status, sshKeys }: Row): void {
    const mayRun = !destroyed && !isFinal(status) && targetState === 'running' && holdsGpus
    if (mayRun && observed.state === 'running' && sshKeys)
      expect(observed.sshKeys.toSorted()).toEqual(sshKeys.toSorted())
    if (observed.state === 'running') expect(end.restart).toBeNull()
    // A settled instance has no pending restart. If its container is gone, its next start may make it anew.
    if (!destroyed && !isFinal(end.status)) expect([null, 'anew']).toContain(end.restart)
    if (destroyed) expect(observed.state).toBe('absent')
    else if (mayRun) expect(observed.state === 'running' || isFinal(end.status)).toBe(true)
    else expect(['absent', 'preparing', 'prepared', 'stopped', 'exited', 'failed']).toContain(observed.state)
  }
})

type Disturbance =
  | { kind: 'update'; targetState: 'running' | 'stopped' }
  | { kind: 'destroy' | 'exit' | 'lose' | 'pass' }
  | { kind: 'grant'; holdsGpus: boolean }
  | { kind: 'plug'; out: boolean }
  | { kind: 'wait'; ms: number }
  | { kind: 'keys'; sshKeys: string[] }

const disturbances: fc.Arbitrary<Disturbance> = fc.oneof(
  { arbitrary: fc.constant<Disturbance>({ kind: 'pass' }), weight: 6 },
  fc.constantFrom<Disturbance>(
    { kind: 'update', targetState: 'running' },
    { kind: 'update', targetState: 'stopped' },
    { kind: 'grant', holdsGpus: true },
    { kind: 'grant', holdsGpus: false },
    { kind: 'exit' },
    { kind: 'plug', out: true },
    { kind: 'plug', out: false },
    { kind: 'wait', ms: 2_000 },
    { kind: 'wait', ms: 30_000 },
    { kind: 'wait', ms: 400_000 },
    { kind: 'keys', sshKeys: ['b'] },
  ),
  { arbitrary: fc.constantFrom<Disturbance>({ kind: 'lose' }, { kind: 'destroy' }), weight: 1 },
)

describe('an instance with a final status', () => {
  it(
    'never runs again, whatever is requested and observed afterwards',
    async () => {
      const histories = fc.array(disturbances, { minLength: 10, maxLength: 60 })
      const property = fc.asyncProperty(images, histories, async (image, history) => {
        const world = createTestBench(image)
        let row = rowOf(freshFacts, world)
        for (const happening of history) {
          const ended = isFinal(row.status)
          const before = await callMachine(world.observe())
          const next = await happen(world, row, happening)
          if (ended) {
            expect(next.status).toBe(row.status)
            if (happening.kind === 'pass') expect(isUp(await callMachine(world.observe())) && !isUp(before)).toBe(false)
          }
          row = next
        }
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  const isUp = (seen: Observed | 'unreachable' | 'refused') =>
    typeof seen !== 'string' && (seen.state === 'starting' || seen.state === 'running')

  const freshFacts: Facts = {
    targetState: 'running',
    holdsGpus: true,
    interruptible: false,
    destroyed: false,
    status: 'created',
    hasRun: false,
    refused: false,
    restart: null,
    targetReason: null,
    targetMessage: null,
    sshKeys: ['a'],
  }

  async function happen(world: TestBench, row: Row, happening: Disturbance): Promise<Row> {
    switch (happening.kind) {
      case 'update': {
        const instance = { ...row, destroyedAt: row.destroyed ? new Date(0) : null, label: null }
        const result = decideChange(instance, { targetState: happening.targetState })
        return 'refusal' in result ? row : { ...row, targetState: result.changes.targetState ?? row.targetState }
      }
      case 'destroy':
        return { ...row, destroyed: true }
      case 'grant':
        return { ...row, holdsGpus: happening.holdsGpus }
      case 'exit':
        world.exit(id, 1, world.clock.now())
        return row
      case 'lose':
        world.lose(id)
        return row
      case 'plug':
        world.setOut(machineId, happening.out)
        return row
      case 'wait':
        world.clock.advance(happening.ms)
        return row
      case 'keys':
        return { ...row, sshKeys: happening.sshKeys }
      case 'pass':
        return (await runPass(world, row)).row
    }
  }
})
