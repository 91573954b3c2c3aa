import { expect, it } from 'vitest'
import { createRememberedKeys, type KnownKey } from '../../../src/services/accounts/api-keys/remembered-keys.ts'

const key = (remainingMs: number | null = null): KnownKey => {
  return { id: 1, accountId: 1, secretHash: Buffer.from('hash'), permissions: null, disabled: null, remainingMs }
}

function setUp({ listening = true } = {}) {
  let nowMs = 0
  let reads = 0
  const keys = createRememberedKeys(() => nowMs)
  keys.setListening(listening)
  const find = (found: KnownKey | undefined = key(), meanwhile = () => {}) =>
    keys.find('id', async () => {
      reads += 1
      meanwhile()
      return found
    })
  return { keys, find, reads: () => reads, now: () => nowMs, pass: (ms: number) => (nowMs += ms) }
}

it('remembers a key for less than a second', async () => {
  const { find, reads, pass } = setUp()
  await find()
  pass(999)
  expect(await find()).toEqual(key())
  expect(reads()).toBe(1)
  pass(1)
  await find()
  expect(reads()).toBe(2)
})

it('does not remember a key for longer than it is valid', async () => {
  const { find, reads, pass } = setUp()
  await find(key(300))
  pass(299)
  await find()
  expect(reads()).toBe(1)
  pass(1)
  await find()
  expect(reads()).toBe(2)
})

it('reads a key anew for a request that needs it fresh, and remembers or forgets it accordingly', async () => {
  const { keys, find, reads } = setUp()
  const findFresh = (found: KnownKey | undefined) => keys.find('id', async () => found, { fresh: true })
  await find()
  const narrowed = { ...key(), permissions: { api: {} } }
  expect(await findFresh(narrowed)).toBe(narrowed)
  expect(await find()).toBe(narrowed)
  expect(reads()).toBe(1)
  expect(await findFresh(undefined)).toBeUndefined()
  await find()
  expect(reads()).toBe(2)
})

it('is fresh enough for a request that began before the key was read, and for no later request', async () => {
  const { keys, find, reads, pass, now } = setUp()
  const begun = now()
  pass(10)
  await find()
  const later = { ...key(), permissions: { api: {} } }
  const findSince = (since: number) => keys.find('id', async () => later, { fresh: true, since })
  expect(await findSince(begun)).toEqual(key())
  expect(await findSince(now())).toEqual(key())
  pass(1)
  expect(await findSince(now())).toBe(later)
  expect(reads()).toBe(1)
})

it('remembers no unknown key', async () => {
  const { keys, reads, find } = setUp()
  await keys.find('id', async () => undefined)
  expect(await find()).toEqual(key())
  expect(reads()).toBe(1)
})

it('counts the second from before the key was read', async () => {
  const { find, reads, pass } = setUp()
  await find(key(), () => pass(400))
  pass(599)
  await find()
  expect(reads()).toBe(1)
  pass(1)
  await find()
  expect(reads()).toBe(2)
})

it('forgets a key that changed, even while it was being read', async () => {
  const { keys, find, reads } = setUp()
  await find()
  keys.forget(1)
  await find(key(), () => keys.forget(1))
  expect(reads()).toBe(2)
  await find()
  expect(reads()).toBe(3)
})

it('remembers a key while others change', async () => {
  const { keys, find, reads } = setUp()
  await find()
  await keys.find('other', async () => ({ ...key(), id: 2 }))
  keys.forget(2)
  await find()
  expect(reads()).toBe(1)
  expect(await keys.find('other', async () => undefined)).toBeUndefined()
})

it('remembers nothing while it is told of no changes, and nothing from before', async () => {
  const { keys, find, reads } = setUp({ listening: false })
  await find()
  await find()
  expect(reads()).toBe(2)
  keys.setListening(true)
  await find()
  keys.setListening(false)
  keys.setListening(true)
  await find()
  expect(reads()).toBe(4)
})

it('keeps the 10,000 keys that it read last', async () => {
  const { keys } = setUp()
  let reads = 0
  const findOther = (id: number) =>
    keys.find(`other ${id}`, async () => {
      reads += 1
      return key()
    })
  for (let id = 0; id <= 10_000; id += 1) await findOther(id)
  await findOther(1)
  await findOther(10_000)
  expect(reads).toBe(10_001)
  await findOther(0)
  expect(reads).toBe(10_002)
})
