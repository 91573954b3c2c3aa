import { it } from 'vitest'
import { runOutbidding } from '../support/machines/outbidding.ts'

it('lets two accounts outbid each other on two machines a thousand times, without a deadlock or a shared GPU', async () => {
  await runOutbidding({ rounds: 1_000, checkEvery: 100 })
})
