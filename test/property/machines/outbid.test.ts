import { it } from 'vitest'
import { outbid } from '../../support/machines/outbidding.ts'

// A thousand rounds of it are in test/long.
it('two accounts outbid each other on two machines at the same instant, without a deadlock or a shared GPU', async () => {
  await outbid({ rounds: 30, lawsEvery: 1 })
}, 120_000)
