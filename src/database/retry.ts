import { setTimeout as sleep } from 'node:timers/promises'
import { failureKindOf } from './failure-codes.ts'

const maxAttempts = 4
const pauseMs = 100

/** Retries idempotent work a few times if the database did not answer, such as after a lost connection. */
export async function retryUncertain<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === maxAttempts || failureKindOf(error) !== 'uncertain') throw error
    }
    await sleep(pauseMs)
  }
}
