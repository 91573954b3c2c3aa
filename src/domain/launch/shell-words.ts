// A command line, as renters write it: words between blanks, with quotes and backslashes around what would be read
// otherwise. Nothing is expanded, since there is no shell and nothing of the renter's that it could look up.

import { countCharacters } from '../texts.ts'

/** A word of a command line, and which character of the text it starts with, counted from 1. */
export type Word = { text: string; at: number }

// The pieces follow each other without a gap. Where none matches, something was opened that never ends.
const tokenPattern = new RegExp(
  [
    /(?<blank>[ \t\r\n]+)/,
    // A backslash at the end of a line joins the next one to it, in long commands that are copied whole.
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

/** Splits a text into words as a shell does, or says what is wrong with it and where. */
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
    ? `ends in a backslash, at character ${at}, that keeps nothing.`
    : `has a quote at character ${at} that is not closed.`
}

/** Between double quotes a backslash keeps only what would have a meaning there, and is itself before anything else. */
function unescapeQuoted(quoted: string | undefined): string | undefined {
  return quoted?.replace(/\\(?:\r?\n|(["\\$`]))/g, '$1')
}

/** A command line that is split into these words, with quotes where a shell needs them. */
export function printWords(words: string[]): string {
  return words.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ')
}
