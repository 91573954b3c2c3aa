import { expect, it } from 'vitest'
import { fixedResponse } from '../../../src/rest/responses.ts'
import type { Route } from '../../../src/rest/route.ts'

it('makes the answer of a fixed route once, also for those who ask first together', async () => {
  const route = {} as Route
  let calls = 0
  const answer = async () => {
    calls += 1
    return { made: calls }
  }
  const ask = async () => await (await fixedResponse(route, new Request('http://berth.test/'), answer)).json()
  const first = await Promise.all([ask(), ask()])
  expect([...first, await ask()]).toEqual([{ made: 1 }, { made: 1 }, { made: 1 }])
})
