import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

type Text = { file: string; words: Map<string, number>; imports: string[] }

/** Tests of the whole program take longer than those of one part, so they need more in common to come first. */
const bonusOfLevel: Record<string, number> = { unit: 2, property: 2, wire: 1, integration: 1 }
/** Tests that import the file themselves come before those that do through others. */
const bonusOfImport = 3
/** Tests of the same noun come before others, such as those of the schema as a whole. */
const bonusOfNoun = 3

/**
 * Finds the tests that are most likely to notice a change of a file: those that import it, directly or not, and have the
 * most words in common with it, where rare words count for more.
 */
export function createNearestTests(root: string): (file: string) => string[] {
  const texts = new Map(['src', 'prisma', 'test'].flatMap(folder => textsIn(root, folder)))
  const weigh = createWeights([...texts.values()])
  const tests = [...texts.values()]
    .map(text => ({ ...text, bonus: bonusOfLevel[text.file.split('/')[1] as string] ?? 0, weights: weigh(text) }))
    .filter(test => test.file.endsWith('.test.ts') && test.bonus > 0)
  return file => {
    const weights = weigh(texts.get(file) as Text)
    return tests
      .filter(test => reaches(texts, test.file, file))
      .map(test => ({ file: test.file, rank: test.bonus * closeness(file, test) * cosine(weights, test.weights) }))
      .toSorted((a, b) => b.rank - a.rank)
      .map(test => test.file)
  }
}

/** The noun of a test is its second folder; a file has one in its layer, or the layer is one. */
function closeness(file: string, test: Text): number {
  const nouns = file.split('/').slice(1, -1)
  const isOfNoun = nouns.includes(test.file.split('/')[2] as string)
  return (isOfNoun ? bonusOfNoun : 1) * (test.imports.includes(file) ? bonusOfImport : 1)
}

function textsIn(root: string, folder: string): [string, Text][] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !/generated|node_modules/.test(name))
    .map(name => {
      const file = join(folder, name)
      const text = readFileSync(join(root, file), 'utf8')
      const targets = [...text.matchAll(/from '(\.[^'\n]+)'$|^import '(\.[^'\n]+)'$|\bimport\(\s*'(\.[^'\n]+)'/gm)]
      const imports = targets.map(([, ...found]) => join(dirname(file), found.find(Boolean) as string))
      return [file, { file, words: countWords(`${file} ${file} ${file} ${text}`), imports }]
    })
}

/** "maxBidNanos" has three words. */
function countWords(text: string): Map<string, number> {
  const words =
    text
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z]{3,}/g) ?? []
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function createWeights(texts: Text[]): (text: Text) => Map<string, number> {
  const containing = new Map<string, number>()
  for (const word of texts.flatMap(({ words }) => [...words.keys()])) {
    containing.set(word, (containing.get(word) ?? 0) + 1)
  }
  const rarity = (word: string) => Math.log(texts.length / (containing.get(word) as number))
  return ({ words }) => new Map([...words].map(([word, count]) => [word, (1 + Math.log(count)) * rarity(word)]))
}

function cosine(one: Map<string, number>, other: Map<string, number>): number {
  const length = (words: Map<string, number>) => Math.hypot(...words.values()) || 1
  const common = [...one].reduce((sum, [word, weight]) => sum + weight * (other.get(word) ?? 0), 0)
  return common / (length(one) * length(other))
}

function reaches(texts: Map<string, Text>, from: string, to: string): boolean {
  const seen = new Set([from])
  for (const file of seen) for (const target of texts.get(file)?.imports ?? []) seen.add(target)
  return seen.has(to)
}
