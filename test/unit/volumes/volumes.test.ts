import { describe, expect, it } from 'vitest'
import {
  emptyEnvironment,
  mountPathProblem,
  type NewVolumeMount,
  type VolumeMount,
} from '../../../src/domain/launch/env.ts'
import { checkLaunch } from '../../../src/domain/launch/launch.ts'
import { mountIssues, newVolumesMb } from '../../../src/domain/volumes/mount.ts'

const mount = (volumeId: bigint, mountPath: string): VolumeMount => ({ volumeId, mountPath })
const newMount = (mountPath: string, sizeGb = 10): NewVolumeMount => ({ name: undefined, sizeGb, mountPath })
const messages = (volumes: VolumeMount[], newVolumes: NewVolumeMount[] = []) =>
  mountIssues({ volumes, newVolumes }).map(({ path, message }) => `${path}: ${message}`)

describe('the volumes of an instance', () => {
  it.each([
    [[mount(1n, '/a'), mount(2n, '/a/')], 'volumes: must be mounted on different paths, but two are on /a.'],
    [[mount(1n, '/a//b'), mount(2n, '/a')], 'volumes: must not be mounted below each other, but /a/b is below /a.'],
    [[mount(1n, '/a'), mount(1n, '/b')], 'volumes: must list each volume once, but volume 1 is listed more than once.'],
    [
      [mount(1n, `/${'a'.repeat(60)}`), mount(2n, `/${'a'.repeat(60)}`)],
      `volumes: must be mounted on different paths, but two are on /${'a'.repeat(59)}….`,
    ],
    [
      [mount(1n, `/${'a'.repeat(59)}`), mount(2n, `/${'a'.repeat(59)}`)],
      `volumes: must be mounted on different paths, but two are on /${'a'.repeat(59)}.`,
    ],
  ])('are refused as %o', (volumes, message) => {
    expect(messages(volumes)).toEqual([message])
  })

  it.each(['\n', '\t', '\u007f', '\u0085', '\u2028', '\u202e', '\u2066', '\u200f'])(
    'cannot be mounted on a path with %j, which looks like another path',
    character => {
      const [problem, none] = [`/a${character}b`, '/a b/é😀'].map(mountPathProblem)
      expect([problem, none]).toEqual(['must be mounted on a path without control characters.', undefined])
    },
  )

  it('can be mounted on neighboring paths', () => {
    expect(messages([mount(1n, '/a'), mount(2n, '/ab'), mount(3n, '/b/a')], [newMount('/b/ab')])).toEqual([])
  })

  it('are at most 8, new ones included', () => {
    const volumes = Array.from({ length: 7 }, (_, index) => mount(BigInt(index + 1), `/${index}`))
    expect(messages(volumes, [newMount('/x')])).toEqual([])
    expect(messages(volumes, [newMount('/x'), newMount('/y')])).toEqual(['volumes: must be at most 8, not 9.'])
  })

  it('are checked with the launch', () => {
    const environment = { ...emptyEnvironment(), volumes: [mount(1n, '/a')] }
    const newVolumes = [{ ...newMount('/a/b', 0.5), name: 'é' }, newMount('b'), newMount('/c')]
    const { launch, issues } = checkLaunch({ image: '', environment, newVolumes })
    expect([launch, issues.map(({ path }) => path)]).toEqual([
      undefined,
      ['image', 'newVolumes.0.name', 'newVolumes.0.sizeGb', 'newVolumes.1.mountPath', 'volumes'],
    ])
    const fit = [newMount('/b'), newMount('/c', 1.5)]
    expect(checkLaunch({ image: 'ubuntu', environment, newVolumes: fit }).launch).toMatchObject({
      volumes: environment.volumes,
      newVolumes: fit,
    })
    expect(newVolumesMb(fit)).toBe(11_500)
  })
})
