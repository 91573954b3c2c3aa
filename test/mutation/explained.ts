import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSame, type Mutant } from './candidates.ts'

/** A mutant that no test can or should notice, and why. It is found by the text of its lines. */
export type Explained = { file: string; before: string; after: string; reason: string }

export const explained: readonly Explained[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'explained.json'), 'utf8'),
)

export function isExplained(mutant: Mutant): boolean {
  return explained.some(known => isSame(known, mutant))
}
