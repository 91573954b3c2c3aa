// The README and the pages under docs/, as tests read them.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => join('docs', path))
    .toSorted(),
]

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

/** The part of a page under a heading, up to the next heading of the same level or a higher one. */
export function chapterOf(text: string, heading: string): string {
  const level = heading.indexOf(' ')
  const [, chapter] = text.split(`\n${heading}\n`)
  if (chapter === undefined) throw new Error(`There is no heading "${heading}".`)
  return chapter.split(new RegExp(`\n#{1,${level}} `))[0] as string
}

/** The code blocks with exactly this info string: `sh`, `sh stream`, `json` and so on. */
export function blocksOf(text: string, info: string): string[] {
  return [...text.matchAll(/^```(.+)\n((?:(?!```).*\n)*)```$/gm)]
    .filter(([, language]) => language === info)
    .map(([, , content]) => content as string)
}
