import type { Word } from './shell-words.ts'

type Flag<Name> = { name: Name; spelling: string; value: string; at: number }

/** What is wrong with a command line, and at which of its characters. */
type Problem = { at: number; message: string }

/** Each spelling of each flag: -e and --env are one. */
export type FlagNames<Name> = ReadonlyMap<string, Name>

/** Sorts a command line whose flags all take a value, which follows as a word, behind "=", or at once: -p80:80. */
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
      // What follows an unknown flag is probably its value, and is not another mistake.
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

/** The spelling of a flag, and the value that is written in one word with it. */
export function splitFlag(text: string): { spelling: string; value: string | undefined } {
  // Of what is no flag at all no more is repeated than its first word: the rest may be a value.
  const [, spelling = text.replace(/\s.*$/su, ''), separator = '', value = ''] =
    /^(--[^=\s]+|-[^-\s])(=)?(.*)$/su.exec(text) ?? []
  return { spelling, value: separator || value ? value : undefined }
}

export function unknownFlagMessage(names: FlagNames<unknown>): string {
  const short = [...names.keys()].filter(spelling => !spelling.startsWith('--'))
  return `is not understood; there are ${short.slice(0, -1).join(', ')} and ${short.at(-1)}.`
}
