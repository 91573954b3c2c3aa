import { expect, it } from 'vitest'
import { presentFixed } from '../../../src/rest/answers.ts'
import type { Route } from '../../../src/rest/route.ts'

it('makes the answer of a fixed route once, also for those who ask first together', async () => {
  const route = {} as Route
  let made = 0
  const answer = async () => {
    made += 1
    return { made }
  }
  const ask = async () => await (await presentFixed(route, new Request('http://berth.test/'), answer)).json()
  const first = await Promise.all([ask(), ask()])
  expect([...first, await ask()]).toEqual([{ made: 1 }, { made: 1 }, { made: 1 }])
})
