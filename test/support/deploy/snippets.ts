// The commands of docs/deploying.md, as a reader pastes them, with the names of a test.

import { join } from 'node:path'
import { blocksOf, chapterOf, readPage } from '../docs.ts'
import { runProgram } from '../engine/docker.ts'

const root = join(import.meta.dirname, '../../..')

/** The blocks of a chapter, with replacements that must all be there. */
export function snippetsOf(heading: string, replacements: readonly (readonly [string, string])[] = []): string[] {
  const blocks = blocksOf(chapterOf(readPage('docs/deploying.md'), heading), 'sh deploy')
  for (const [old] of replacements)
    if (!blocks.join().includes(old)) throw new Error(`The chapter "${heading}" of docs/deploying.md has no "${old}".`)
  return blocks.map(block => replacements.reduce((text, [old, now]) => text.replaceAll(old, now), block))
}

/** The files of this clone as they are, which an archive has once they are committed. */
export const archive = `(cd ${root} && git ls-files -z | tar --create --null --files-from=-)`

/** Pastes a snippet into a shell in a folder, and returns what it prints. */
export async function paste(snippet: string, folder: string, env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runProgram('sh', ['-euc', `cd '${folder}'\n${snippet}`], '', env)
  if (code !== 0) throw new Error(`${snippet}\nended with ${code}: ${(stdout + stderr).slice(-4_000)}`)
  return stdout.trim()
}
