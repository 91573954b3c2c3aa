import { it } from 'vitest'
import { outbid } from '../support/machines/outbidding.ts'

it('two accounts outbid each other on two machines a thousand times, without a deadlock or a shared GPU', async () => {
  await outbid({ rounds: 1_000, lawsEvery: 100 })
})
