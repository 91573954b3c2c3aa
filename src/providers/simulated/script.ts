// How an image makes its simulated container misbehave, by its name: "simulated/crash:30". docs/operating.md has the same
// table. Every other image behaves.

import { createHash } from 'node:crypto'

/** How a container behaves. Durations are ms at delay factor 1. */
export type Script = {
  pullMs: number
  startMs: number
  stopMs: number
  /** The step that never succeeds. */
  fails?: 'pull' | 'start'
  /** The container exits by itself `afterMs` after it is up. */
  end?: { afterMs: number; exitCode: number }
}

type Behavior = { fallback: number; script: (value: number) => Partial<Script> }

/** The number after the colon is seconds or, for `exit`, the exit code. */
const behaviors: Record<string, Behavior> = {
  'not-found': { fallback: 0, script: () => ({ pullMs: 2_000, fails: 'pull' }) },
  'no-start': { fallback: 0, script: () => ({ fails: 'start' }) },
  'slow-pull': { fallback: 3_600, script: seconds => ({ pullMs: seconds * 1_000 }) },
  'slow-start': { fallback: 3_600, script: seconds => ({ startMs: seconds * 1_000 }) },
  'slow-stop': { fallback: 600, script: seconds => ({ stopMs: seconds * 1_000 }) },
  crash: { fallback: 10, script: seconds => ({ end: { afterMs: seconds * 1_000, exitCode: 1 } }) },
  exit: { fallback: 0, script: exitCode => ({ end: { afterMs: 5_000, exitCode } }) },
}

const minPullMs = 4_000
const maxPullMs = 25_000

export function scriptOf(image: string): Script {
  const usual = { pullMs: usualPullMs(image), startMs: 3_000, stopMs: 2_000 }
  const [, name = '', value] = /^simulated\/([a-z-]+)(?::(\d{1,6}))?$/.exec(image) ?? []
  const behavior = Object.hasOwn(behaviors, name) ? behaviors[name] : undefined
  return behavior ? { ...usual, ...behavior.script(value === undefined ? behavior.fallback : Number(value)) } : usual
}

/** Whether a container of the image does nothing with its GPUs. */
export function isIdle(image: string): boolean {
  return image === 'simulated/idle'
}

/** Depends on the name, so that the same image always takes the same time. */
function usualPullMs(image: string): number {
  const share = createHash('sha256').update(image).digest().readUInt16BE() / 0xffff
  return Math.round(minPullMs + share * (maxPullMs - minPullMs))
}
