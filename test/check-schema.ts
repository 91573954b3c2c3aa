// Compares schema.graphql with the schema of the newest release tag. A change that breaks clients fails, unless the
// removed part was deprecated in that release. Before the first release, the script only lists changes since the last
// commit.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { findBreakingChanges } from './support/faces/schema-diff.ts'

const current = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8')
const tag = tryGit('describe', '--tags', '--abbrev=0', '--match', 'v*')?.trim()
const baseline = tryGit('show', `${tag ?? 'HEAD'}:schema.graphql`)

if (baseline !== undefined) {
  const changes = await findBreakingChanges(baseline, current)
  const since = tag ?? 'the last commit'
  for (const change of changes) process.stdout.write(`Breaks clients of ${since}: ${change}\n`)
  if (tag && changes.length > 0) {
    process.stdout.write('Deprecate these parts first, and remove them in a later release.\n')
    process.exitCode = 1
  }
}

/** Undefined if there is no git, no tag or no such file. */
function tryGit(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
