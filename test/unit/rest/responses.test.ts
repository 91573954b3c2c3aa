import { expect, it } from 'vitest'
import { fixedResponse } from '../../../src/rest/responses.ts'
import type { Route } from '../../../src/rest/route.ts'

it('calls answer once for a fixed route, even with concurrent first requests', async () => {
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
