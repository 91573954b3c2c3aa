import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceFile } from 'typescript/unstable/ast'
import { type Edit, editsOf } from './operators.ts'
import { type Program, walk } from './program.ts'

/** A change of one place in a file, with the lines that it changes, before and after. */
export type Mutant = { file: string; line: number; edit: Edit; before: string; after: string }

export function candidatesIn(root: string, folder: string, program: Program): Mutant[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join(folder, name))
    .toSorted()
    .flatMap(file => mutantsOf(file, program.parse(file)))
}

/** Of changes that make the same line of the same line, the first. */
export function mutantsOf(file: string, source: SourceFile): Mutant[] {
  const edits: Edit[] = []
  walk(source, node => void edits.push(...editsOf(node)))
  const mutants = edits.map(edit => mutantOf(file, source.text, edit))
  return mutants.filter((mutant, index) => mutants.findIndex(other => isSame(other, mutant)) === index)
}

function mutantOf(file: string, text: string, edit: Edit): Mutant {
  const begin = text.lastIndexOf('\n', edit.from) + 1
  const newline = text.indexOf('\n', edit.to)
  const end = newline < 0 ? text.length : newline
  const changed = `${text.slice(begin, edit.from)}${edit.text}${text.slice(edit.to, end)}`
  return {
    ...{ file, line: text.slice(0, edit.from).split('\n').length, edit },
    ...{ before: onOneLine(text.slice(begin, end)), after: onOneLine(changed) },
  }
}

function onOneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

export function mutate(text: string, { from, to, text: replacement }: Edit): string {
  return `${text.slice(0, from)}${replacement}${text.slice(to)}`
}

export function isSame(one: Pick<Mutant, 'file' | 'before' | 'after'>, other: Mutant): boolean {
  return one.file === other.file && one.before === other.before && one.after === other.after
}
