import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { mapInTurns, printJsonInTurns } from '../../../src/rest/in-turns.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** How often other work gets a turn before the work ends. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false
  work.finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns += 1) await nextTurn()
  return turns
}

describe('a list that is made in turns', () => {
  it.each([0, 1, 250, 251, 5_000])('has the same %i items in the same order', async count => {
    expect(await mapInTurns(numbers(count), String)).toEqual(numbers(count).map(String))
  })

  it('lets other work run between its parts', async () => {
    expect(await turnsDuring(mapInTurns(numbers(5_000), String))).toBeGreaterThanOrEqual(19)
  })
})

describe('JSON that is printed in turns', () => {
  const item = (id: number) => ({ id, 'a "name"': null, nested: [[id]], at: new Date(id), left: undefined })
  it.each([
    null,
    'text',
    [1, 2],
    [numbers(600)],
    {},
    { success: true, left: undefined },
    { instances: numbers(250).map(item) },
    { success: true, left: undefined, 'long "list"': numbers(251).map(item), after: [undefined] },
    { lists: { inside: numbers(600) }, one: numbers(1_000), other: numbers(500).map(item) },
  ])('is the same as at once', async body => {
    expect(await printJsonInTurns(body)).toBe(JSON.stringify(body))
  })

  it('lets other work run between its parts', async () => {
    expect(await turnsDuring(printJsonInTurns({ rows: numbers(5_000).map(item) }))).toBeGreaterThanOrEqual(19)
  })
})
