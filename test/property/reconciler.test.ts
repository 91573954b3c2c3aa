import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Truth } from '../../src/domain/containers.ts'
import { applyChange, finalStatuses, instanceStatuses, isFinal } from '../../src/domain/instances.ts'
import { createSimulated } from '../../src/providers/simulated.ts'
import { plan as planWithin, type Wish } from '../../src/reconciler/plan.ts'
import { specOf } from '../contract/provider.ts'
import { type ManualClock, manualClock } from '../support/clock.ts'
import { aWorld } from '../support/worlds.ts'

// FC_SEED repeats a run, FC_RUNS makes it longer.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 400)
const timeout = 20_000 + 100 * numRuns

const limits = { startTimeoutMs: 30 * 60_000, offlineGraceMs: 5 * 60_000 }
const plan = (wish: Wish, truth: Truth) => planWithin(wish, truth, limits)
const noTime = { unreachableMs: 0, loadingMs: 0, stoppingMs: 0 }

const id = 1n
const verbs = ['ensure', 'authorise', 'start', 'stop', 'remove'] as const
type Verb = (typeof verbs)[number]

const keys = fc.shuffledSubarray(['a', 'b', 'c'])

const wishes: fc.Arbitrary<Wish> = fc.record({
  targetState: fc.constantFrom('running' as const, 'stopped' as const),
  granted: fc.boolean(),
  interruptible: fc.boolean(),
  destroyed: fc.boolean(),
  status: fc.constantFrom(...instanceStatuses),
  hasRun: fc.boolean(),
  sshKeys: fc.option(keys),
  unreachableMs: fc.constant(0),
  loadingMs: fc.constant(0),
  stoppingMs: fc.constant(0),
})

function bench() {
  const clock = manualClock()
  const { world, ...tricks } = aWorld()
  const driver = createSimulated({ world, now: clock.now, delayFactor: 1 })
  const signal = AbortSignal.timeout(60_000)
  const tell = async (verb: Verb, sshKeys: string[] | null = []) => {
    if (verb === 'ensure') await driver.ensure(specOf(id), signal)
    else if (verb === 'authorise') await driver.authorise({ instanceId: id, sshKeys: sshKeys ?? [] }, signal)
    else await driver[verb](id, signal)
  }
  return { clock, ...tricks, tell, observe: () => driver.observe(id, signal) }
}
type Bench = ReturnType<typeof bench>

/** What a reconciler does with one instance: looks, takes the step, and writes down what it saw where there is none. */
async function look({ observe, tell }: Bench, wish: Wish): Promise<{ wish: Wish; truth: Truth; settled: boolean }> {
  for (let turn = 0; turn < 10; turn += 1) {
    const truth = await observe()
    const { steps, status, settled } = plan(wish, truth)
    const [step] = steps
    if (step === undefined) {
      return { wish: { ...wish, status, hasRun: wish.hasRun || status === 'running' }, truth, settled }
    }
    await tell(step, wish.sshKeys)
  }
  throw new Error('It did not come to rest.')
}

async function arrive(bench: Bench, first: Wish) {
  let result = await look(bench, first)
  for (let looks = 0; !result.settled; looks += 1) {
    if (looks === 10) throw new Error('It did not arrive.')
    await waitFor(bench.clock, result.truth)
    result = await look(bench, result.wish)
  }
  return result
}

async function waitFor(clock: ManualClock, truth: Truth): Promise<void> {
  const until = 'until' in truth ? truth.until : undefined
  clock.advance(until ? until.getTime() - clock.now().getTime() : 2_000)
}

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

  it(
    'arrives from any world in a few steps, and has nothing left to do there',
    async () => {
      const property = fc.asyncProperty(wishes, pasts, async (wish, past) => {
        const world = bench()
        for (const { verb, sshKeys, waitMs, exits } of past) {
          await world.tell(verb, sshKeys)
          world.clock.advance(waitMs)
          if (exits) world.exit(id, 1, world.clock.now())
        }
        const end = await arrive(world, wish)
        world.clock.advance(600_000)
        const truth = await world.observe()
        expect(plan(end.wish, truth)).toMatchObject({ steps: [], status: end.wish.status, settled: true })
        checkEnd(end.wish, truth, wish)
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  function checkEnd(end: Wish, truth: Truth, { destroyed, targetState, granted, status, sshKeys }: Wish): void {
    const mayRun = !destroyed && !isFinal(status) && targetState === 'running' && granted
    if (mayRun && truth.state === 'running' && sshKeys) expect(truth.sshKeys.toSorted()).toEqual(sshKeys.toSorted())
    if (destroyed) expect(truth.state).toBe('absent')
    else if (mayRun) expect(truth.state === 'running' || isFinal(end.status)).toBe(true)
    else expect(['absent', 'preparing', 'prepared', 'stopped', 'exited']).toContain(truth.state)
  }
})

type Happening =
  | { kind: 'wish'; targetState: 'running' | 'stopped' }
  | { kind: 'destroy' | 'exit' | 'lose' | 'look' }
  | { kind: 'grant'; granted: boolean }
  | { kind: 'wait'; ms: number }
  | { kind: 'keys'; sshKeys: string[] }

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  { arbitrary: fc.constant<Happening>({ kind: 'look' }), weight: 6 },
  fc.constantFrom<Happening>(
    { kind: 'wish', targetState: 'running' },
    { kind: 'wish', targetState: 'stopped' },
    { kind: 'grant', granted: true },
    { kind: 'grant', granted: false },
    { kind: 'exit' },
    { kind: 'wait', ms: 2_000 },
    { kind: 'wait', ms: 30_000 },
    { kind: 'keys', sshKeys: ['b'] },
  ),
  { arbitrary: fc.constantFrom<Happening>({ kind: 'lose' }, { kind: 'destroy' }), weight: 1 },
)

describe('an instance that ended', () => {
  it(
    'never runs again, whatever is wished and seen afterwards',
    async () => {
      const property = fc.asyncProperty(fc.array(happenings, { minLength: 10, maxLength: 60 }), async history => {
        const world = bench()
        let wish = aFreshWish
        for (const happening of history) {
          const ended = finalStatuses.includes(wish.status)
          const before = await world.observe()
          const next = await happen(world, wish, happening)
          if (ended) {
            expect(next.status).toBe(wish.status)
            const after = await world.observe()
            const runs = ({ state }: Truth) => state === 'starting' || state === 'running'
            expect(runs(after) && !runs(before)).toBe(false)
          }
          wish = next
        }
      })
      await fc.assert(property, { seed, numRuns })
    },
    timeout,
  )

  const aFreshWish: Wish = {
    targetState: 'running',
    granted: true,
    interruptible: false,
    destroyed: false,
    status: 'created',
    hasRun: false,
    sshKeys: ['a'],
    ...noTime,
  }

  async function happen(world: Bench, wish: Wish, happening: Happening): Promise<Wish> {
    switch (happening.kind) {
      case 'wish': {
        const standing = { ...wish, destroyedAt: wish.destroyed ? new Date(0) : null, label: null }
        const result = applyChange(standing, { targetState: happening.targetState })
        return 'refusal' in result ? wish : { ...wish, targetState: result.changes.targetState ?? wish.targetState }
      }
      case 'destroy':
        return { ...wish, destroyed: true }
      case 'grant':
        return { ...wish, granted: happening.granted }
      case 'exit':
        world.exit(id, 1, world.clock.now())
        return wish
      case 'lose':
        world.lose(id)
        return wish
      case 'wait':
        world.clock.advance(happening.ms)
        return wish
      case 'keys':
        return { ...wish, sshKeys: happening.sshKeys }
      case 'look':
        return (await look(world, wish)).wish
    }
  }
})
