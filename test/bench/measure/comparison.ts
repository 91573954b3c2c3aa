import assert from 'node:assert'
import type { Stacks } from '../peers/stacks.ts'
import type { Contestant, Workload } from '../workloads/workload.ts'
import { contestantsOf } from './rounds.ts'

/** How many inputs of a workload are compared. */
const compared = 3

/** Checks that all contestants answer or write the same rows. */
export async function compareAnswers(workload: Workload, stacks: Stacks, settle: () => Promise<void>): Promise<void> {
  const [first, ...others] = contestantsOf(workload)
  if (!first) return
  const expected = await answersOf(first)
  for (const name of others) {
    assert.deepStrictEqual(await answersOf(name), expected, `${workload.id}: ${name} and ${first} differ.`)
  }

  async function answersOf(name: Contestant): Promise<unknown[]> {
    const inputs = workload.inputs(0)
    const answers: unknown[] = []
    for (let next = inputs.next(); !next.done && answers.length < compared; next = inputs.next()) {
      answers.push(await answerOf(workload, name, next.value))
    }
    await settle()
    await workload.restore?.()
    return answers
  }

  async function answerOf({ ways }: Workload, name: Contestant, input: unknown): Promise<unknown> {
    const way = ways[name]
    if (!way) return undefined
    const { path, ...request } = way.request(input)
    const response = await fetch(new URL(path, stacks[name].url), request)
    const text = await response.text()
    assert(text.includes(way.expects), `${workload.id}: ${name} answers ${text.slice(0, 1_000)}`)
    return await way.rows(JSON.parse(text), input)
  }
}
