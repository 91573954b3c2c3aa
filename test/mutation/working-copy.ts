import { readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type Mutant, mutate } from './candidates.ts'

/** A copy of the tree, in which mutants are made. The checkout itself is never changed. */
export type WorkingCopy = Awaited<ReturnType<typeof copyTree>>

export async function copyTree(root: string) {
  const copy = await mkdtemp(join(tmpdir(), 'berth-mutants-'))
  const isCopied = (path: string) => !/(^|\/)(node_modules|\.git)$/.test(relative(root, path))
  await cp(root, copy, { recursive: true, filter: isCopied })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  /** The file that has a mutant now, and what was in it before. */
  let changed: { path: string; text: string } | undefined
  return {
    root: copy,
    /** Runs a task while the mutant is in the copy. */
    with: async <Result>(mutant: Mutant, task: () => Promise<Result> | Result): Promise<Result> => {
      const path = join(copy, mutant.file)
      const text = readFileSync(path, 'utf8')
      changed = { path, text }
      writeFileSync(path, mutate(text, mutant.edit))
      try {
        return await task()
      } finally {
        writeFileSync(path, text)
        changed = undefined
      }
    },
    /** Runs a task while no mutant is in the copy. */
    without: async <Result>(task: () => Promise<Result>): Promise<Result> => {
      if (!changed) return await task()
      const { path, text } = changed
      const mutated = readFileSync(path, 'utf8')
      writeFileSync(path, text)
      try {
        return await task()
      } finally {
        writeFileSync(path, mutated)
      }
    },
    remove: () => rm(copy, { recursive: true }),
  }
}
