// Splits a command line into words as a shell does, with quotes and backslashes. Nothing is expanded, because there is no
// shell and no environment of the renter.

import { countCharacters } from '../texts.ts'

/** A word of a command line. `at` is the number of its first character, counted from 1. */
export type Word = { text: string; at: number }

// The pieces follow each other without a gap. Where none matches, a quote or a backslash is incomplete.
const tokenPattern = new RegExp(
  [
    /(?<blank>[ \t\r\n]+)/,
    // A backslash at the end of a line joins the next line, as in long commands that users paste.
    /(?<join>\\\r?\n)/,
    /'(?<single>[^']*)'/,
    /"(?<double>[^"\\]*(?:\\.[^"\\]*)*)"/,
    /\\(?<escaped>.)/,
    /(?<plain>[^ \t\r\n'"\\]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gsuy',
)

/** The words of a text, or the problem with it and where it is. */
export function splitWords(text: string): Word[] | string {
  const words: Word[] = []
  let word: Word | undefined
  let end = 0
  let at = 1
  for (const { 0: piece, groups = {} } of text.matchAll(tokenPattern)) {
    const kept = groups['single'] ?? unescapeQuoted(groups['double']) ?? groups['escaped'] ?? groups['plain']
    if (groups['blank'] !== undefined) word = undefined
    if (kept !== undefined && word === undefined) {
      word = { text: '', at }
      words.push(word)
    }
    if (word) word.text += kept ?? ''
    end += piece.length
    at += countCharacters(piece)
  }
  if (end === text.length) return words
  return text.charAt(end) === '\\'
    ? `ends in a backslash, at character ${at}, that escapes nothing.`
    : `has a quote at character ${at} that is not closed.`
}

/** In double quotes a backslash escapes only characters with a meaning there. Before any other it stays a backslash. */
function unescapeQuoted(quoted: string | undefined): string | undefined {
  return quoted?.replace(/\\(?:\r?\n|(["\\$`]))/g, '$1')
}

/** A command line that splits into these words, with quotes where a shell needs them. */
export function printWords(words: string[]): string {
  return words.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
