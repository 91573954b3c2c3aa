import { it } from 'vitest'
import { runOutbidding } from '../../support/machines/outbidding.ts'

// A thousand rounds of it are in test/long.
it('two accounts outbid each other on two machines at the same instant, without a deadlock or a shared GPU', async () => {
  await runOutbidding({ rounds: 30, lawsEvery: 1 })
}, 120_000)
