import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { mapInTurns } from '../../../src/turns/in-turns.ts'
import { type Owner, workFor } from '../../../src/turns/owners.ts'
import { printJsonInTurns } from '../../../src/turns/print-json.ts'

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

/** Takes a millisecond of this thread. */
function spend(): void {
  for (const end = performance.now() + 1; performance.now() < end; );
}

describe('a list that is made in turns', () => {
  it.each([0, 1, 250, 5_000])('has the same %i items in the same order', async count => {
    expect(await mapInTurns(numbers(count), String)).toEqual(numbers(count).map(String))
  })

  it('lets other work run every few milliseconds', async () => {
    expect(await turnsDuring(mapInTurns(numbers(50), spend))).toBeGreaterThanOrEqual(8)
  })
})

describe('lists that are made in turns at once', () => {
  it('have one turn between two looks at the sockets', async () => {
    const lists = Array.from({ length: 10 }, () => mapInTurns(numbers(30), spend))
    const turns = await turnsDuring(Promise.all(lists))
    expect(turns).toBeGreaterThanOrEqual(40)
  })
})

it('owners take turns with long work', async () => {
  const steps: Owner[] = []
  const work = (owner: Owner) =>
    workFor(owner, () =>
      mapInTurns(numbers(5), () => {
        for (let ms = 0; ms < 6; ms += 1) spend()
        steps.push(owner)
      }),
    )
  await Promise.all([...Array.from({ length: 10 }, () => work(1)), work(2)])
  const before = steps.slice(0, steps.lastIndexOf(2)).filter(owner => owner === 1)
  // The first step of each work does not wait.
  expect(before.length).toBeLessThan(20)
})

describe('JSON that is printed in turns', () => {
  const item = (id: number) => ({ id, 'a "name"': null, nested: [[id]], at: new Date(id), left: undefined })
  const printed = async (body: unknown) => {
    const result = await printJsonInTurns(body)
    return typeof result === 'string' ? result : Buffer.concat(result).toString()
  }

  it.each([
    null,
    'text',
    [1, 2],
    [numbers(600)],
    numbers(600).map(item),
    {},
    { success: true, left: undefined },
    { instances: numbers(100).map(item) },
    { 'only "list"': numbers(101).map(item) },
    { success: true, left: undefined, list: numbers(101).map(item), after: [undefined], last: undefined },
    { left: undefined, values: [...numbers(200), undefined, 'é漢😀', '\ud800'] },
    { lists: { inside: numbers(600) }, one: numbers(1_000), other: numbers(500).map(item) },
  ])('is the same as at once', async body => {
    expect(await printed(body)).toBe(JSON.stringify(body))
  })

  it('has pieces of about 64 KB', async () => {
    const pieces = (await printJsonInTurns({ rows: numbers(300).map(() => 'x'.repeat(1_000)) })) as Uint8Array[]
    expect(pieces.map(({ byteLength }) => Math.round(byteLength / 1_000))).toEqual([66, 66, 66, 66, 36])
  })

  it('lets other work run every few milliseconds', async () => {
    const rows = numbers(50).map(() => ({ toJSON: spend }))
    expect(await turnsDuring(printJsonInTurns({ rows: [...rows, ...rows, ...rows] }))).toBeGreaterThanOrEqual(20)
  })
})
