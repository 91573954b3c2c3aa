import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Engine } from '../../../src/domain/machines/engines.ts'
import type { Inventory } from '../../../src/providers/provider.ts'
import { createEngineWatch, type EngineWatch } from '../../../src/reconciler/engine-watch.ts'

const engine: Engine = { url: 'unix:///run/engine.sock', tls: null, mark: '1f', gpuAccess: 'none', gpuUuids: [] }

/** A machine with an engine, and what the gateway did. */
let connected: Map<number, Engine>
let inventory: Inventory
let deleted: bigint[]
let isDown: boolean
let report: ((id: bigint) => void) | undefined
let lose: ((error: Error) => void) | undefined
let done: string[]
let lines: string[]
let watch: EngineWatch
let isSlow: boolean
/** How many removals waited for a slow machine at the same time, at most. */
let mostWaiting: number

beforeEach(() => {
  connected = new Map([[7, engine]])
  inventory = { instanceIds: [1n, 2n], volumeIds: [5n] }
  deleted = []
  isDown = false
  report = undefined
  done = []
  lines = []
  isSlow = false
  mostWaiting = 0
  let waiting = 0
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  watch = createEngineWatch({
    ...{ log, findMs: 5, timing: { compareMs: 50, retryMs: 5 } },
    engines: { all: async () => connected },
    changes: {
      noteChanges: async (machineId, ids) => void done.push(`changed ${machineId}: ${ids}`),
      noteReturn: async machineId => void done.push(`returned ${machineId}`),
      compare: async (_, { instanceIds, volumeIds }) => {
        done.push('compared')
        const containers = instanceIds
          .filter(id => id === 2n)
          .map(id => ({ machineId: 7, instanceId: id, accountId: 3 }))
        return { containers, volumeIds }
      },
      deletedVolumes: async () => deleted,
      noteRemovedVolumes: async ids => void done.push(`noted ${ids}`),
    },
    provider: {
      watch: (_, onChange, signal) => {
        if (isDown) return Promise.reject(new Error('down'))
        report = onChange
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        signal.addEventListener('abort', () => resolve())
        lose = reject
        return promise.finally(() => {
          report = undefined
        })
      },
      inventory: async () => {
        if (isDown) throw new Error('down')
        return inventory
      },
      async remove({ instanceId, accountId }, signal) {
        done.push(`removed ${instanceId} of ${accountId}`)
        if (!isSlow) return
        waiting += 1
        mostWaiting = Math.max(mostWaiting, waiting)
        await once(signal, 'abort')
        waiting -= 1
        signal.throwIfAborted()
      },
      removeVolume: async (_, volumeId) => {
        done.push(`removed volume ${volumeId}`)
        if (volumeId === 5n) inventory = { ...inventory, volumeIds: inventory.volumeIds.filter(id => id !== 5n) }
      },
    },
  })
})

afterEach(() => watch.stop())

it('compares at once, again later, and removes what should be gone', async () => {
  watch.start()
  await expect.poll(() => done.filter(what => what === 'compared').length).toBeGreaterThan(2)
  expect(done.slice(0, 3)).toEqual(['compared', 'removed 2 of 3', 'removed volume 5'])
  expect(done).not.toContain('removed 1 of 3')
})

it('ends a comparison that takes longer than until the next, and says each time once what it removes', async () => {
  isSlow = true
  watch.start()
  await expect.poll(() => done.filter(what => what === 'compared').length).toBeGreaterThan(3)
  expect(mostWaiting).toBe(1)
  expect(new Set(lines)).toEqual(new Set(['A machine has containers of instances that are gone. They are removed.']))
})

it('says nothing while the machine has only what it should have', async () => {
  inventory = { ...inventory, instanceIds: [1n] }
  watch.start()
  await expect.poll(() => done.filter(what => what === 'compared').length).toBeGreaterThan(1)
  expect(lines).toEqual([])
})

it('notes which deleted volumes the machine does not have anymore', async () => {
  inventory = { ...inventory, volumeIds: [5n, 6n] }
  deleted = [4n, 5n, 6n]
  watch.start()
  await expect.poll(() => done.find(what => what.startsWith('noted'))).toBe('noted 4,5')
  expect(done.indexOf('removed volume 6')).toBeLessThan(done.indexOf('noted 4,5'))
})

it('notes changes that come close together at once', async () => {
  watch.start()
  await expect.poll(() => report).toBeDefined()
  for (const id of [1n, 2n, 1n]) report?.(id)
  await expect.poll(() => done).toContain('changed 7: 1,2')
})

it('notes all instances of an engine that was lost and answers again', async () => {
  watch.start()
  await expect.poll(() => report).toBeDefined()
  isDown = true
  lose?.(new Error('lost'))
  await expect.poll(() => lines.filter(line => line.includes('does not answer'))).toHaveLength(1)
  expect(done.filter(what => what.startsWith('changed'))).toEqual([])
  isDown = false
  await expect.poll(() => done).toContain('returned 7')
  expect(lines).toContain('The engine of a machine answers again.')
})

it('leaves a machine that is disconnected, and follows one that is connected', async () => {
  connected.delete(7)
  watch.start()
  await sleep(20)
  expect(done).toEqual([])
  connected.set(7, engine)
  await expect.poll(() => report).toBeDefined()
  connected.delete(7)
  await expect.poll(() => report).toBeUndefined()
})

it('stops at once, even while an engine is down', async () => {
  isDown = true
  watch.start()
  await expect.poll(() => lines.length).toBeGreaterThan(0)
  const start = performance.now()
  await watch.stop()
  expect(performance.now() - start).toBeLessThan(2_000)
})
