import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import { decideChange } from '../../../src/domain/instances/instances.ts'
import { instanceStatuses, isFinal } from '../../../src/domain/instances/states.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'
import { createSimulatedProvider } from '../../../src/providers/simulated-provider.ts'
import { type Desired, makePlan, type Plan } from '../../../src/reconciler/plan.ts'
import { machineError } from '../../../src/reconciler/reasons.ts'
import { containerSpec } from '../../contract/provider.ts'
import { type ManualClock, manualClock } from '../../support/clock.ts'
import { createMemoryWorld } from '../../support/instances/memory-world.ts'

// FC_SEED repeats a run, FC_RUNS makes it longer.
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

/** What is wished and was written, before time has passed. */
type Facts = Omit<Desired, 'unreachableMs' | 'loadingMs' | 'stoppingMs'>
/** The same with the instants that are written. */
type Row = Facts & { unreachableAt: Date | null; statusChangedAt: Date }

const facts: fc.Arbitrary<Facts> = fc.record({
  targetState: fc.constantFrom('running' as const, 'stopped' as const),
  granted: fc.boolean(),
  interruptible: fc.boolean(),
  destroyed: fc.boolean(),
  status: fc.constantFrom(...instanceStatuses),
  hasRun: fc.boolean(),
  refused: fc.boolean(),
  restart: fc.constantFrom(null, 'reboot' as const, 'recycle' as const, 'anew' as const),
  targetReason: fc.constantFrom(null, 'USER_REQUEST', 'NO_CREDIT'),
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
  const driver = createSimulatedProvider({ world, now: clock.now, delayFactor: 1 })
  const signal = AbortSignal.timeout(60_000)
  const spec = { ...containerSpec(id), launch: { ...containerSpec(id).launch, image } }
  let refusals = 0
  let refused: Verb | undefined
  const tell = async (verb: Verb, sshKeys: string[] | null = []) => {
    if (verb === refused) throw new Refusal()
    if (refusals > 0) {
      refusals -= 1
      throw new Refusal()
    }
    if (verb === 'ensure') await driver.ensure(spec, signal)
    else if (verb === 'setSshKeys') await driver.setSshKeys({ instanceId: id, sshKeys: sshKeys ?? [] }, signal)
    else await driver[verb](id, signal)
  }
  return {
    ...{ clock, ...tricks, tell, observe: () => driver.observe(id, signal) },
    /** So many of the next steps are refused. */
    refuse: (count: number) => {
      refusals = count
    },
    /** Every such step is refused from now on. */
    refuseEvery: (verb: Verb) => {
      refused = verb
    },
  }
}
type TestBench = ReturnType<typeof createTestBench>

function desiredOf({ unreachableAt, statusChangedAt, ...facts }: Row, now: Date): Desired {
  const since = (instant: Date | null) => (instant ? now.getTime() - instant.getTime() : 0)
  const loadingMs = since(facts.status === 'loading' ? statusChangedAt : null)
  const stoppingMs = since(facts.status === 'stopping' ? statusChangedAt : null)
  return { ...facts, unreachableMs: since(unreachableAt), loadingMs, stoppingMs }
}

function rowOf(facts: Facts, { clock }: TestBench): Row {
  return { ...facts, unreachableAt: null, statusChangedAt: clock.now() }
}

/** What a call to a machine gives, also to one that does not answer. */
async function callMachine<Answer>(call: Promise<Answer>): Promise<Answer | 'unreachable' | 'refused'> {
  return await call.catch((error: unknown) => {
    if (error instanceof Refusal) return 'refused' as const
    if (error instanceof MachineUnreachable) return 'unreachable' as const
    throw error
  })
}

/** What a reconciler does with one instance: looks, takes the step, and writes down what it saw where there is none. */
async function runPass(bench: TestBench, row: Row): Promise<{ row: Row; truth: Observed; settled: boolean }> {
  const now = bench.clock.now()
  let wish = desiredOf(row, now)
  let cut = false
  for (let turn = 0; turn < 10; turn += 1) {
    const seen = cut ? 'unreachable' : await callMachine(bench.observe())
    const truth: Observed = typeof seen === 'string' ? { state: 'unreachable' } : seen
    const next = makePlan(wish, truth, limits)
    const [step] = next.steps
    if (step === undefined) return { ...recordPass(row, truth, next, now), truth }
    const answer = await callMachine(bench.tell(step, wish.sshKeys))
    if (answer === 'refused') return { ...recordPass(row, truth, { ...next, reason: machineError }, now), truth }
    cut = answer === 'unreachable'
    if (step === 'start' && !cut) wish = { ...wish, status: 'loading', loadingMs: 0, refused: false }
  }
  throw new Error('It did not come to rest.')
}

function recordPass(
  row: Row,
  { state }: Observed,
  { status, reason, settled, restart = row.restart }: Plan,
  now: Date,
) {
  const unreachableAt = state === 'unreachable' ? (row.unreachableAt ?? now) : null
  const statusChangedAt = status === row.status ? row.statusChangedAt : now
  // What just ended is looked at once more.
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
  for (let looks = 0; !result.settled; looks += 1) {
    if (looks === 200) throw new Error(`It did not arrive: ${JSON.stringify(result)}`)
    waitFor(bench.clock, result.truth)
    result = await runPass(bench, result.row)
  }
  return result
}

function waitFor(clock: ManualClock, truth: Observed): void {
  const until = 'until' in truth ? truth.until : undefined
  clock.advance(until ? Math.min(until.getTime() - clock.now().getTime(), 60_000) : 2_000)
}

describe('a plan', () => {
  /** Whatever is wished, seen and waited for. */
  function always(law: (wish: Desired, truth: Observed, next: Plan) => void): void {
    const property = fc.property(facts, times, observations, (facts, times, truth) => {
      const wish = { ...facts, ...times }
      law(wish, truth, makePlan(wish, truth, limits))
    })
    fc.assert(property, { seed, numRuns: numRuns * 25 })
  }
  const mayRun = ({ destroyed, status, targetState, granted }: Desired) =>
    !destroyed && !isFinal(status) && targetState === 'running' && granted

  it('is one step or none, and none where nothing is left to do', () => {
    always((_wish, _truth, { steps, status, settled }) => {
      expect(instanceStatuses).toContain(status)
      expect(steps.length).toBeLessThanOrEqual(settled ? 0 : 1)
    })
  })

  it('changes no status without saying why, and none of what ended', () => {
    always((wish, _, { status, reason }) => {
      if (status === wish.status) return
      expect(reason).toMatchObject({ code: expect.any(String), message: expect.any(String) })
      expect(isFinal(wish.status)).toBe(false)
    })
  })

  it('brings up only what may run', () => {
    always((wish, _, { steps }) => {
      if (mayRun(wish)) return
      for (const step of ['ensure', 'setSshKeys', 'start'] as const) expect(steps).not.toContain(step)
    })
  })

  it('removes only what was destroyed, or is to be made anew', () => {
    always(({ destroyed, restart }, _, { steps }) => {
      if (steps.includes('remove')) expect(destroyed || restart === 'recycle').toBe(true)
    })
  })

  it('starts nothing as long as it is to be brought down first', () => {
    always(({ restart }, { state }, { steps }) => {
      if (restart === 'reboot' || restart === 'recycle') {
        for (const step of ['ensure', 'start'] as const) {
          if (steps.includes(step)) expect([restart, state]).toEqual(['reboot', 'absent'])
        }
      }
    })
  })

  it('asks a machine that does not answer for nothing, and has not done with it', () => {
    always((_, truth, { steps, settled }) => {
      if (truth.state === 'unreachable') expect([steps, settled]).toEqual([[], false])
    })
  })

  it('takes an instance for offline when its machine was silent for the whole grace, and only then', () => {
    always((wish, { state }, { status }) => {
      if (wish.destroyed || isFinal(wish.status)) return
      expect(status === 'offline').toBe(state === 'unreachable' && wish.unreachableMs >= limits.offlineGraceMs)
    })
  })

  it('ends by its time limit only what has been loading or going down for so long', () => {
    always((wish, _, { reason }) => {
      if (reason?.code !== 'START_TIMEOUT') return
      expect(wish).toMatchObject({ targetState: 'running', granted: true, destroyed: false })
      const { loadingMs, stoppingMs } = wish
      const ms = { loading: loadingMs, stopping: stoppingMs }[wish.status as string]
      expect(ms).toBeGreaterThanOrEqual(limits.startTimeoutMs)
    })
  })
})

describe('planning and executing', () => {
  /** Whatever a gateway that died, or a person at the machine, may have left. */
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
    'arrives from any world in a few steps, and has nothing left to do there',
    async () => {
      const property = fc.asyncProperty(facts, images, pasts, fc.boolean(), async (facts, image, past, cut) => {
        const world = createTestBench(image)
        await liveThrough(world, past)
        let first = rowOf(facts, world)
        if (cut) first = await lookInVain(world, first)
        const end = await converge(world, first)
        // What runs may end by itself, which is for the next look to see.
        if (end.truth.state !== 'running') world.clock.advance(7_200_000)
        const truth = await world.observe()
        expect(makePlan(desiredOf(end.row, world.clock.now()), truth, limits)).toMatchObject({
          steps: [],
          settled: true,
        })
        expect(makePlan(desiredOf(end.row, world.clock.now()), truth, limits).status).toBe(end.row.status)
        checkEnd(end.row, truth, first)
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  it(
    'arrives where it would have, when its machine refuses a few steps and is away before',
    async () => {
      // What comes to an end by itself may do so before it is asked again.
      const kinds = images.filter(image => !/crash|exit|no-start/.test(image))
      const refusals = fc.integer({ min: 1, max: 3 })
      const property = fc.asyncProperty(facts, kinds, pasts, refusals, async (facts, image, past, count) => {
        const ends = []
        for (const refused of [0, count]) {
          const world = createTestBench(image)
          await liveThrough(world, past)
          let first = rowOf(facts, world)
          world.refuse(refused)
          if (refused > 0) first = await lookInVain(world, (await runPass(world, first)).row)
          ends.push((await converge(world, first)).row.status)
        }
        expect(ends[1]).toBe(ends[0])
      })
      await fc.assert(property, { seed, numRuns: numRuns * 4 })
    },
    timeout,
  )

  it(
    'runs or ends, and keeps its GPUs for nothing no longer, when its machine refuses something for ever',
    async () => {
      const living = instanceStatuses.filter(status => !isFinal(status))
      const wished = fc.record({
        facts,
        status: fc.constantFrom(...living),
        restart: fc.constantFrom(null, 'reboot' as const, 'recycle' as const, 'anew' as const),
      })
      const refused = fc.constantFrom(...verbs)
      const property = fc.asyncProperty(wished, images, pasts, refused, async (wished, image, past, verb) => {
        const world = createTestBench(image)
        await liveThrough(world, past)
        const { facts, ...others } = wished
        let row = rowOf({ ...facts, ...others, targetState: 'running', granted: true, destroyed: false }, world)
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

  /** Its machine is away for some looks, and comes back. */
  async function lookInVain(world: TestBench, row: Row): Promise<Row> {
    world.setOut(machineId, true)
    let last = row
    for (let looks = 0; looks < 5; looks += 1) {
      last = (await runPass(world, last)).row
      world.clock.advance(50_000)
    }
    world.setOut(machineId, false)
    return last
  }

  function checkEnd(end: Row, truth: Observed, { destroyed, targetState, granted, status, sshKeys }: Row): void {
    const mayRun = !destroyed && !isFinal(status) && targetState === 'running' && granted
    if (mayRun && truth.state === 'running' && sshKeys) expect(truth.sshKeys.toSorted()).toEqual(sshKeys.toSorted())
    if (truth.state === 'running') expect(end.restart).toBeNull()
    // Of what has come to rest nothing is to be restarted later; what is gone may be made anew when it is started.
    if (!destroyed && !isFinal(end.status)) expect([null, 'anew']).toContain(end.restart)
    if (destroyed) expect(truth.state).toBe('absent')
    else if (mayRun) expect(truth.state === 'running' || isFinal(end.status)).toBe(true)
    else expect(['absent', 'preparing', 'prepared', 'stopped', 'exited', 'failed']).toContain(truth.state)
  }
})

type Disturbance =
  | { kind: 'wish'; targetState: 'running' | 'stopped' }
  | { kind: 'destroy' | 'exit' | 'lose' | 'look' }
  | { kind: 'grant'; granted: boolean }
  | { kind: 'plug'; out: boolean }
  | { kind: 'wait'; ms: number }
  | { kind: 'keys'; sshKeys: string[] }

const disturbances: fc.Arbitrary<Disturbance> = fc.oneof(
  { arbitrary: fc.constant<Disturbance>({ kind: 'look' }), weight: 6 },
  fc.constantFrom<Disturbance>(
    { kind: 'wish', targetState: 'running' },
    { kind: 'wish', targetState: 'stopped' },
    { kind: 'grant', granted: true },
    { kind: 'grant', granted: false },
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

describe('an instance that ended', () => {
  it(
    'never runs again, whatever is wished and seen afterwards',
    async () => {
      const histories = fc.array(disturbances, { minLength: 10, maxLength: 60 })
      const property = fc.asyncProperty(images, histories, async (image, history) => {
        const world = createTestBench(image)
        let row = rowOf(aFreshWish, world)
        for (const happening of history) {
          const ended = isFinal(row.status)
          const before = await callMachine(world.observe())
          const next = await happen(world, row, happening)
          if (ended) {
            expect(next.status).toBe(row.status)
            if (happening.kind === 'look') expect(isUp(await callMachine(world.observe())) && !isUp(before)).toBe(false)
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

  const aFreshWish: Facts = {
    targetState: 'running',
    granted: true,
    interruptible: false,
    destroyed: false,
    status: 'created',
    hasRun: false,
    refused: false,
    restart: null,
    targetReason: null,
    sshKeys: ['a'],
  }

  async function happen(world: TestBench, row: Row, happening: Disturbance): Promise<Row> {
    switch (happening.kind) {
      case 'wish': {
        const standing = { ...row, destroyedAt: row.destroyed ? new Date(0) : null, label: null }
        const result = decideChange(standing, { targetState: happening.targetState })
        return 'refusal' in result ? row : { ...row, targetState: result.changes.targetState ?? row.targetState }
      }
      case 'destroy':
        return { ...row, destroyed: true }
      case 'grant':
        return { ...row, granted: happening.granted }
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
      case 'look':
        return (await runPass(world, row)).row
    }
  }
})
