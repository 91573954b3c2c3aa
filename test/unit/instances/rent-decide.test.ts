import { describe, expect, it } from 'vitest'
import {
  decideRent,
  machineIssues,
  type RentFacts,
  type RentInput,
  rentalHoldings,
  rentalRate,
} from '../../../src/domain/instances/rent/decide.ts'
import { emptyEnvironment } from '../../../src/domain/launch/env.ts'
import { checkLaunch, type Launch, type LaunchInput } from '../../../src/domain/launch/launch.ts'
import { aListedMachine } from '../../support/instances/claims.ts'

function aLaunch(facts: Partial<Launch>): Launch {
  const { launch } = checkLaunch({ image: 'ubuntu' })
  return { ...(launch as Launch), ...facts }
}

const portsUpTo = (count: number) =>
  Array.from({ length: count }, (_, port) => ({ hostPort: port, containerPort: port, protocol: 'tcp' as const }))

const made = (...sizes: number[]) => sizes.map((sizeGb, index) => ({ name: undefined, sizeGb, mountPath: `/${index}` }))

describe('the issues of a launch on a machine', () => {
  const machine = { ...aListedMachine(), freeDiskMb: 20_500, freePorts: 3 }
  const lackedBy = (launch: Launch) => machineIssues(machine, launch, launch.ports)
  const pathsOf = (facts: Partial<Launch>) => lackedBy(aLaunch(facts)).map(({ path }) => path)

  it.each<[string, Partial<Launch>, Partial<Launch>]>([
    ['ports', { ports: portsUpTo(3) }, { ports: portsUpTo(4) }],
    ['diskGb', { diskMb: 20_500 }, { diskMb: 20_501 }],
    ['newVolumes', { diskMb: 10_000, newVolumes: made(10.5) }, { diskMb: 10_001, newVolumes: made(10.5) }],
    ['newVolumes', { diskMb: 8_000, newVolumes: made(6, 6.5) }, { diskMb: 8_000, newVolumes: made(6, 6.501) }],
    // A disk that does not fit hides the issue of its volumes.
    ['diskGb', { diskMb: 19_000, newVolumes: made(1.5) }, { diskMb: 20_501, newVolumes: made(1.5) }],
  ])('name %s only beyond the free capacity', (path, enough, tooMuch) => {
    expect(pathsOf(enough)).toEqual([])
    expect(pathsOf(tooMuch)).toEqual([path])
  })

  it('are empty at the exact capacity, and name everything beyond it', () => {
    expect(pathsOf({ ports: portsUpTo(3), diskMb: 20_500 })).toEqual([])
    expect(pathsOf({ ports: portsUpTo(4), diskMb: 20_501 })).toEqual(['diskGb', 'ports'])
  })

  it('name the room that is left for volumes besides the disk', () => {
    expect(lackedBy(aLaunch({ diskMb: 15_250, newVolumes: made(5.251) }))).toEqual([
      { path: 'newVolumes', message: 'must have at most 5.25 GB in all: the machine has no more free.' },
    ])
  })

  it('name a virtual machine that the machine does not support', () => {
    expect(pathsOf({ vm: true })).toEqual(['vm'])
    expect(machineIssues({ ...machine, vmsEnabled: true }, aLaunch({ vm: true }), [])).toEqual([])
  })

  it('are empty when no port is free and none is requested', () => {
    expect(machineIssues({ ...machine, freePorts: 0 }, aLaunch({ ports: [] }), [])).toEqual([])
  })
})

describe('the price of a rental at its start', () => {
  const machine = { ...aListedMachine(), diskPricePerGbMonthNanos: 72_000_000n }
  const priceOf = (facts: Partial<Launch>) => rentalRate(machine, aLaunch({ diskMb: 10_000, ...facts }), 400_000_000n)

  it.each<[string, Partial<Launch>, bigint]>([
    ['the disk alone if the instance should not run', { targetState: 'stopped' }, 1_000_000n],
    ['the GPUs, too, if it should run', { targetState: 'running' }, 401_000_000n],
    ['new volumes, too', { targetState: 'running', newVolumes: made(20, 30) }, 406_000_000n],
  ])('is of %s', (_, launch, price) => {
    expect(priceOf(launch)).toBe(price)
  })
})

describe('what a rental adds to the holdings of its account', () => {
  const machine = { ...aListedMachine(), diskPricePerGbMonthNanos: 72_000_000n }
  const stopped = { instances: 1, diskNanos: 6_000_000n, diskMb: 60_000, volumes: 2, gpuPriceNanos: 0n, loading: 0 }

  it.each([
    ['stopped', stopped],
    ['running', { ...stopped, gpuPriceNanos: 400_000_000n, loading: 1 }],
  ] as const)('are its disk and volumes, and its GPUs if it should run: %s', (targetState, expected) => {
    const launch = aLaunch({ diskMb: 10_000, targetState, newVolumes: made(20, 30) })
    expect(rentalHoldings(machine, launch, 400_000_000n)).toEqual(expected)
  })
})

describe('a renter without an SSH key', () => {
  const facts: RentFacts = {
    template: undefined,
    secretVariables: [],
    sshKeyCount: 0,
    volumes: [],
    creditNanos: 1n,
    target: undefined,
    hasProxy: true,
  }
  const outcomeOf = (launch: Partial<LaunchInput>, sshKeyCount = 0) => {
    const input: RentInput = {
      offerId: 1n,
      terms: { interruptible: false },
      launch: { image: 'ubuntu', ...launch },
      failIfUnavailable: false,
    }
    const { warnings, blockers } = decideRent(input, { ...facts, sshKeyCount }, new Date(0))
    return { warnings: warnings.length, refused: blockers.some(({ code }) => code === 'SSH_KEY_REQUIRED') }
  }

  it.each<[what: string, launch: Partial<LaunchInput>, warnings: number, refused: boolean]>([
    ['is warned when SSH is the only access', {}, 1, false],
    ['is not warned in args mode', { mode: 'args' }, 0, false],
    ['is refused a virtual machine without a warning', { vm: true }, 0, true],
  ])('%s', (_what, launch, warnings, refused) => {
    expect(outcomeOf(launch)).toEqual({ warnings, refused })
    expect(outcomeOf(launch, 1)).toEqual({ warnings: 0, refused: false })
  })
})

describe('a rental without an SSH proxy', () => {
  const facts: RentFacts = {
    ...{ template: undefined, secretVariables: [], sshKeyCount: 1, volumes: [], creditNanos: 1n },
    ...{ target: undefined, hasProxy: false },
  }
  const decided = (launch: Partial<LaunchInput>) => {
    const terms = { interruptible: false } as const
    const input: RentInput = { offerId: 1n, terms, launch: { image: 'ubuntu', ...launch }, failIfUnavailable: false }
    return decideRent(input, facts, new Date(0))
  }

  it('keeps its mode, gets a public port for SSH, and is warned', () => {
    const { launch, ports, warnings } = decided({})
    expect([launch?.mode, launch?.ports]).toEqual(['sshProxy', []])
    expect(ports).toEqual([{ hostPort: 22, containerPort: 22, protocol: 'tcp' }])
    expect(warnings).toEqual(['This service has no SSH proxy: SSH gets a public port of the machine instead.'])
  })

  it('gets the SSH port beyond the limit of requested ports', () => {
    const environment = { ...emptyEnvironment(), ports: portsUpTo(164).slice(100) }
    const { ports, blockers } = decided({ environment })
    expect([ports.length, blockers.map(({ code }) => code)]).toEqual([65, ['OFFER_UNAVAILABLE']])
  })
})
