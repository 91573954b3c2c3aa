import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { VolumeMount } from '../../../src/domain/launch/env.ts'
import { mountIssues, type VolumeFacts, volumeBlockers } from '../../../src/domain/volumes/mount.ts'

// FC_SEED repeats a run, FC_RUNS makes it longer.
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

it('lets a launch have exactly the volumes that are there, on its machine and free', () => {
  const property = fc.property(found, volumes, newVolumes, (known, wished, made) => {
    const problems = volumeBlockers(known, { volumes: wished, newVolumes: made }, machineId)
    const of = (id: bigint) => known.find(volume => volume.id === id)
    const ids = wished.map(({ volumeId }) => volumeId)
    const missing = problems.flatMap(error => (error.code === 'NOT_FOUND' ? [error.details.subject] : []))
    expect(missing).toEqual(ids.filter(id => !of(id)).map(id => ({ type: 'Volume', id })))
    const taken = problems.flatMap(error => (error.code === 'VOLUME_UNAVAILABLE' ? [error.details.volumeId] : []))
    expect(taken).toEqual(ids.filter(id => of(id)?.machineId === machineId && of(id)?.instanceId === 5n))
    const elsewhere = ids.filter(id => of(id)?.machineId === 8).length
    const offers = made.filter(({ volumeOfferId }) => volumeOfferId === 8n).length
    const invalid = problems.flatMap(error => (error.code === 'INVALID_INPUT' ? [error.details.issues] : []))
    expect(invalid.flat()).toHaveLength(elsewhere + offers)
    expect(invalid.length).toBe(elsewhere + offers > 0 ? 1 : 0)
    for (const { code, details, message } of problems) {
      if (code !== 'VOLUME_UNAVAILABLE') continue
      expect(details.instanceId).toBe(5n)
      expect(message.includes('being removed')).toBe(of(details.volumeId)?.removing)
    }
  })
  fc.assert(property, options)
})

it('says the gravest first: what is not there, then what cannot be there, then what may be there later', () => {
  const order = ['NOT_FOUND', 'INVALID_INPUT', 'VOLUME_UNAVAILABLE']
  const property = fc.property(found, volumes, newVolumes, (known, wished, made) => {
    const codes = volumeBlockers(known, { volumes: wished, newVolumes: made }, machineId).map(({ code }) => code)
    expect(codes).toEqual(codes.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
  })
  fc.assert(property, options)
})

it('mounts nothing twice, nothing over or below another, and not too much', () => {
  const property = fc.property(volumes, newVolumes, (wished, made) => {
    const paths = [...wished, ...made].map(mount => mount.mountPath.split('/').filter(name => name !== ''))
    const ids = wished.map(({ volumeId }) => volumeId)
    const covers = (outer: string[], inner: string[]) => outer.every((name, index) => name === inner[index])
    const clash = paths.some((path, index) =>
      paths.slice(0, index).some(other => covers(path, other) || covers(other, path)),
    )
    const stands = paths.length <= 8 && new Set(ids).size === ids.length && !clash
    expect(mountIssues({ volumes: wished, newVolumes: made }).length === 0).toBe(stands)
  })
  fc.assert(property, options)
})
