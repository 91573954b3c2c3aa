import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { VolumeMount } from '../../../src/domain/launch/env.ts'
import { mountIssues, volumeBlockers } from '../../../src/domain/volumes/mount.ts'
import type { VolumeFacts } from '../../../src/domain/volumes/volumes.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 400)
const options = { seed, numRuns }

const machineId = 7
const facts: fc.Arbitrary<VolumeFacts> = fc.record({
  id: fc.bigInt({ min: 1n, max: 6n }),
  machineId: fc.constantFrom(machineId, machineId, 8),
  instanceId: fc.constantFrom(null, null, 5n),
  removing: fc.boolean(),
})
const found = fc.uniqueArray(facts, { selector: ({ id }) => id })
const segments = fc.array(fc.constantFrom('a', 'ab', 'b'), { minLength: 1, maxLength: 3 })
const mountPath = fc
  .tuple(segments, fc.constantFrom('/', '//'), fc.constantFrom('', '/'))
  .map(([names, separator, end]) => `/${names.join(separator)}${end}`)
const volumes: fc.Arbitrary<VolumeMount[]> = fc.array(
  fc.record({ volumeId: fc.bigInt({ min: 1n, max: 7n }), mountPath }),
  { maxLength: 6 },
)
const newVolumes = fc.array(
  fc.record({
    name: fc.constantFrom(undefined, 'models'),
    sizeGb: fc.constantFrom(1, 15),
    mountPath,
    volumeOfferId: fc.constantFrom(undefined, BigInt(machineId), BigInt(machineId), 8n),
  }),
  { maxLength: 4 },
)

it('accepts exactly the existing volumes that are free and on the machine', () => {
  const property = fc.property(found, volumes, newVolumes, (known, requested, made) => {
    const errors = volumeBlockers(known, { volumes: requested, newVolumes: made }, machineId)
    const of = (id: bigint) => known.find(volume => volume.id === id)
    const ids = requested.map(({ volumeId }) => volumeId)
    const missing = errors.flatMap(error => (error.code === 'NOT_FOUND' ? [error.details.subject] : []))
    expect(missing).toEqual(ids.filter(id => !of(id)).map(id => ({ type: 'Volume', id })))
    const taken = errors.flatMap(error => (error.code === 'VOLUME_UNAVAILABLE' ? [error.details.volumeId] : []))
    expect(taken).toEqual(ids.filter(id => of(id)?.machineId === machineId && of(id)?.instanceId === 5n))
    const elsewhere = ids.filter(id => of(id)?.machineId === 8).length
    const offers = made.filter(({ volumeOfferId }) => volumeOfferId === 8n).length
    const invalid = errors.flatMap(error => (error.code === 'INVALID_INPUT' ? [error.details.issues] : []))
    expect(invalid.flat()).toHaveLength(elsewhere + offers)
    expect(invalid.length).toBe(elsewhere + offers > 0 ? 1 : 0)
    for (const { code, details, message } of errors) {
      if (code !== 'VOLUME_UNAVAILABLE') continue
      expect(details.instanceId).toBe(5n)
      expect(message.includes('being removed')).toBe(of(details.volumeId)?.removing)
    }
  })
  fc.assert(property, options)
})

it('reports the most severe blockers first: missing, misplaced, then attached volumes', () => {
  const order = ['NOT_FOUND', 'INVALID_INPUT', 'VOLUME_UNAVAILABLE']
  const property = fc.property(found, volumes, newVolumes, (known, requested, made) => {
    const codes = volumeBlockers(known, { volumes: requested, newVolumes: made }, machineId).map(({ code }) => code)
    expect(codes).toEqual(codes.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
  })
  fc.assert(property, options)
})

it('accepts at most 8 distinct volumes on paths that do not overlap', () => {
  const property = fc.property(volumes, newVolumes, (requested, made) => {
    const paths = [...requested, ...made].map(mount => mount.mountPath.split('/').filter(name => name !== ''))
    const ids = requested.map(({ volumeId }) => volumeId)
    const covers = (outer: string[], inner: string[]) => outer.every((name, index) => name === inner[index])
    const clash = paths.some((path, index) =>
      paths.slice(0, index).some(other => covers(path, other) || covers(other, path)),
    )
    const isValid = paths.length <= 8 && new Set(ids).size === ids.length && !clash
    expect(mountIssues({ volumes: requested, newVolumes: made }).length === 0).toBe(isValid)
  })
  fc.assert(property, options)
})
