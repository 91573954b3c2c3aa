// An account that makes API keys, uses them and deletes them, on any gateway.

import { setTimeout as sleep } from 'node:timers/promises'
import { post, type Renter } from '../instances/renters.ts'
import type { SeededRandom } from '../seeded-random.ts'

type KeyOwnerOptions = { renter: Renter; urls: () => string[]; pick: (random: SeededRandom) => Promise<string> }

const create = `mutation ($input: CreateApiKeyInput!) { answer: createApiKey(input: $input) {
  __typename ... on CreateApiKeySuccess { secret apiKey { id } } } }`
const remove = `mutation ($input: DeleteApiKeyInput!) { answer: deleteApiKey(input: $input) { __typename } }`
/** Changes nothing, and is a request that may: reads may be answered for a second after a key was deleted. */
const probe = { id: 'key_2000000000' }

export function createKeyOwner({ renter, urls, pick }: KeyOwnerOptions) {
  const counts = { keys: 0, refused: 0, unclear: 0 }
  /** Uses that contradict what was answered before. */
  const faults: string[] = []

  /** Sends a mutation until an answer arrives. */
  async function ask(random: SeededRandom, query: string, input: object) {
    for (;;) {
      const reply = await post(await pick(random), renter.apiKey, query, input).catch(() => undefined)
      if (reply?.data?.answer?.__typename?.endsWith('Success')) return reply.data.answer
      // The answer of an attempt that deleted the key was lost.
      if (reply?.data?.answer?.__typename === 'NotFoundError') return undefined
      await sleep(random.between(5, 50))
    }
  }

  const codeOf = async (url: string, secret: string) => {
    const reply = await post(url, secret, remove, probe).catch(() => undefined)
    if (reply?.data?.answer) return 'OK'
    return reply?.errors?.[0]?.extensions.code
  }

  async function act(random: SeededRandom, number: number): Promise<void> {
    const name = `key ${number}`
    const { secret, apiKey } = await ask(random, create, { name, fullAccess: true, idempotencyKey: name })
    counts.keys += 1
    const used = await codeOf(await pick(random), secret)
    if (used === 'UNAUTHENTICATED') faults.push(`${name} was refused before it was deleted`)
    await ask(random, remove, { id: apiKey.id })
    for (const url of urls()) {
      const code = await codeOf(url, secret)
      if (code === 'OK') faults.push(`${name} was accepted after it was deleted`)
      counts[code === 'UNAUTHENTICATED' ? 'refused' : 'unclear'] += 1
    }
  }

  return {
    counts,
    faults,
    async run(random: SeededRandom, isOver: () => boolean): Promise<void> {
      for (let number = 1; !isOver(); number += 1) {
        await act(random, number)
        await sleep(random.between(200, 1_000))
      }
    },
  }
}
