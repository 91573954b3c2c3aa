import { describe, inject } from 'vitest'
import { attachEngine, type TestEngine } from './engine.ts'

const details = inject('engine')

/** The engine of this run. Its tests are skipped where there is none, so they can use it as if there always were. */
export const engine = (details && attachEngine(details)) as TestEngine

export const describeWithEngine = describe.skipIf(!details)
