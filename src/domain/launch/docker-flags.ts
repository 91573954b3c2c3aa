import type { Word } from './shell-words.ts'

type Flag<Name> = { name: Name; spelling: string; value: string; at: number }

/** A problem of a command line. `at` is the number of the character, counted from 1. */
type Problem = { at: number; message: string }

/** Every spelling of each flag, such as -e and --env. */
export type FlagNames<Name> = ReadonlyMap<string, Name>

/** Parses a command line whose flags all take a value: as the next word, after "=", or attached as in -p80:80. */
export function parseFlags<Name>(
  words: Word[],
  names: FlagNames<Name>,
): { flags: Flag<Name>[]; others: Word[]; problems: Problem[] } {
  const flags: Flag<Name>[] = []
  const others: Word[] = []
  const problems: Problem[] = []
  let known = true
  const rest = words.values()
  for (const { text, at } of rest) {
    if (!text.startsWith('-')) {
      // A word after an unknown flag is probably its value, so it is no further problem.
      if (known) others.push({ text, at })
      continue
    }
    const { spelling, value } = splitFlag(text)
    const name = names.get(spelling)
    known = name !== undefined
    if (name === undefined) {
      problems.push({ at, message: `has ${spelling} at character ${at}, which ${unknownFlagMessage(names)}` })
      continue
    }
    const given = value ?? rest.next().value?.text
    if (given === undefined) problems.push({ at, message: `has ${spelling} at character ${at} without a value.` })
    else flags.push({ name, spelling, value: given, at })
  }
  return { flags, others, problems }
}

/** The spelling of a flag, and the value that is part of the same word. */
export function splitFlag(text: string): { spelling: string; value: string | undefined } {
  // Without a flag, only the first word may appear in a message: the rest may be a secret value.
  const [, spelling = text.replace(/\s.*$/su, ''), separator = '', value = ''] =
    /^(--[^=\s]+|-[^-\s])(=)?(.*)$/su.exec(text) ?? []
  return { spelling, value: separator || value ? value : undefined }
}

export function unknownFlagMessage(names: FlagNames<unknown>): string {
  const short = [...names.keys()].filter(spelling => !spelling.startsWith('--'))
  return `is not a known flag; use ${short.slice(0, -1).join(', ')} or ${short.at(-1)}.`
}
