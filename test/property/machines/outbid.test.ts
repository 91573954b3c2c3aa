import { it } from 'vitest'
import { runOutbidding } from '../../support/machines/outbidding.ts'

// test/long runs a thousand rounds.
it('lets two accounts outbid each other on two machines at once, without a deadlock or a shared GPU', async () => {
  await runOutbidding({ rounds: 30, checkEvery: 1 })
}, 120_000)
