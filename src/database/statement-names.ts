// Names of statements. A connection parses a named statement once, plans it a few times at most, and keeps it until the
// connection closes. So the number of names must have a bound.

import { createHash } from 'node:crypto'
import type { Prisma } from './generated/client.ts'

/** Connections of the pool are replaced after this time, and forget their statements. */
export const connectionLifetimeMs = 3_600_000
/**
 * Repeated texts that get a name in that time. A connection may live in two such times, so it prepares twice as many, and
 * the constant texts.
 */
const maxRepeatedTexts = 150
/** Uses that give a text a name. They double for each further 10 names, so that rare texts cannot take those of frequent ones. */
const usesForName = (names: number) => 3 * 2 ** Math.floor(names / 10)
/** Texts whose uses are counted. */
const maxCountedTexts = 1_000

export type NameOf = (text: string) => string

const namings = new WeakMap<Prisma.Sql, 'never' | 'ifRepeated'>()
const names = new Map<string, string>()

/** The name of a statement; '' without one. `nameOfRepeated` names those that have one if they repeat. */
export function statementNameOf(statement: Prisma.Sql, nameOfRepeated: NameOf): string {
  const naming = namings.get(statement)
  if (naming === 'never') return ''
  return naming === 'ifRepeated' ? nameOfRepeated(statement.text) : nameOfConstant(statement.text)
}

/**
 * For a statement whose best plan depends on the values of a caller's filter: the server plans it for its values each time.
 */
export function withoutStatementName(statement: Prisma.Sql): Prisma.Sql {
  namings.set(statement, 'never')
  return statement
}

/**
 * For a statement whose text depends on what a caller selects or filters, but has one good plan. There is no limit to such
 * texts, so those get a name that repeat.
 */
export function nameIfRepeated(statement: Prisma.Sql): Prisma.Sql {
  namings.set(statement, 'ifRepeated')
  return statement
}

/** Names texts that repeat, a limited number of them in the lifetime of a connection. */
export function createRepeatedNames(now: () => number = Date.now): NameOf {
  const uses = new Map<string, number>()
  const named = new Map<string, string>()
  let start = now()
  return text => {
    if (now() - start > connectionLifetimeMs) {
      start = now()
      uses.clear()
      named.clear()
    }
    const known = named.get(text)
    if (known !== undefined) return known
    if (named.size === maxRepeatedTexts) return ''
    const count = (uses.get(text) ?? 0) + 1
    if (count < usesForName(named.size)) {
      if (count === 1 && uses.size === maxCountedTexts) discountAll(uses)
      else uses.set(text, count)
      return ''
    }
    const name = hashOf(text)
    uses.delete(text)
    named.set(text, name)
    return name
  }
}

/** Takes one use from each text. Texts that were used once make room; a frequent text keeps most of its uses. */
function discountAll(uses: Map<string, number>): void {
  for (const [text, count] of uses) {
    if (count === 1) uses.delete(text)
    else uses.set(text, count - 1)
  }
}

/** The program has a fixed number of constant texts. */
function nameOfConstant(text: string): string {
  const name = names.get(text) ?? hashOf(text)
  names.set(text, name)
  return name
}

/**
 * The name depends on the text alone: a pooler may hand out another gateway's connection, where the same name must stand
 * for the same statement.
 */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
