import { describe, expect, it } from 'vitest'
import { lacksOf } from '../../src/domain/instances-rent.ts'
import { checkLaunch, type Launch } from '../../src/domain/launch.ts'
import { aListedMachine } from '../support/claims.ts'

function aLaunch(facts: Partial<Launch>): Launch {
  const { launch } = checkLaunch({ image: 'ubuntu' })
  return { ...(launch as Launch), ...facts }
}

const portsUpTo = (count: number) =>
  Array.from({ length: count }, (_, port) => ({ hostPort: port, containerPort: port, protocol: 'tcp' as const }))

describe('what a machine lacks for a launch', () => {
  const machine = { ...aListedMachine(), freeDiskMb: 20_500, freePorts: 3 }
  const pathsOf = (facts: Partial<Launch>) => lacksOf(machine, aLaunch(facts)).map(({ path }) => path)

  it.each<[string, Partial<Launch>, Partial<Launch>]>([
    ['ports', { ports: portsUpTo(3) }, { ports: portsUpTo(4) }],
    ['diskGb', { diskMb: 20_500 }, { diskMb: 20_501 }],
  ])('are no %s while there are as many as are free, and are from one more on', (path, enough, tooMuch) => {
    expect(pathsOf(enough)).toEqual([])
    expect(pathsOf(tooMuch)).toEqual([path])
  })

  it('is nothing where it is used up to the last, and all that is too much', () => {
    expect(pathsOf({ ports: portsUpTo(3), diskMb: 20_500 })).toEqual([])
    expect(pathsOf({ ports: portsUpTo(4), diskMb: 20_501 })).toEqual(['diskGb', 'ports'])
  })

  it('is no port where none is free and none is wanted', () => {
    expect(lacksOf({ ...machine, freePorts: 0 }, aLaunch({ ports: [] }))).toEqual([])
  })
})
