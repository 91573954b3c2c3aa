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
  return {
    root: copy,
    /** Runs a task while the mutant is in the copy. */
    with: async <Result>(mutant: Mutant, task: () => Promise<Result> | Result): Promise<Result> => {
      const path = join(copy, mutant.file)
      const text = readFileSync(path, 'utf8')
      writeFileSync(path, mutate(text, mutant.edit))
      try {
        return await task()
      } finally {
        writeFileSync(path, text)
      }
    },
    remove: () => rm(copy, { recursive: true }),
  }
}
