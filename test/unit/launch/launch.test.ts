import { describe, expect, it } from 'vitest'
import { type Environment, emptyEnvironment } from '../../../src/domain/launch/env.ts'
import {
  checkLabel,
  checkLaunch,
  type Launch,
  type LaunchInput,
  launchModes,
  launchWarningsOf,
  modePortNumbers,
} from '../../../src/domain/launch/launch.ts'
import { parseImageLogin } from '../../../src/domain/launch/registry.ts'

const image = 'ubuntu:22.04'
const environment = (given: Partial<Environment>): Environment => ({ ...emptyEnvironment(), ...given })
const tcp = (hostPort: number, containerPort = hostPort) => ({ hostPort, containerPort, protocol: 'tcp' as const })
const ports = (count: number) => Array.from({ length: count }, (_, index) => tcp(1_000 + index))

function mustCheckLaunch(input: LaunchInput): Launch {
  const { launch, issues } = checkLaunch({ image, ...input })
  expect(issues).toEqual([])
  return launch as Launch
}

function issuesOf(input: LaunchInput): string[] {
  const { launch, issues } = checkLaunch({ image, ...input })
  expect(launch).toBeUndefined()
  return issues.map(({ path, message }) => `${path}: ${message}`)
}

describe('a launch', () => {
  it('has defaults for everything except the image', () => {
    expect(mustCheckLaunch({})).toEqual({
      image,
      mode: 'sshProxy',
      lab: false,
      directory: null,
      args: [],
      env: [],
      ports: [],
      hostname: null,
      onStart: null,
      registry: null,
      diskMb: 8_000,
      label: null,
      targetState: 'running',
      vm: false,
      volumes: [],
      newVolumes: [],
    })
  })

  it('has the requested settings', () => {
    const registry = { host: 'ghcr.io', username: 'me', password: 'secret' }
    const input = {
      image,
      mode: 'jupyterProxy',
      lab: true,
      directory: '/work',
      onStart: 'echo hi',
      registry,
      label: 'mine',
      targetState: 'stopped',
      vm: true,
    } as const
    const given = environment({ env: [{ name: 'A', value: '' }], ports: [tcp(80)], hostname: 'box' })
    expect(mustCheckLaunch({ ...input, diskGb: 20.5, environment: given })).toEqual({
      ...input,
      args: [],
      env: given.env,
      ports: given.ports,
      hostname: 'box',
      diskMb: 20_500,
      volumes: [],
      newVolumes: [],
    })
    expect(mustCheckLaunch({ mode: 'args', args: ['-c', '', 'a b'] }).args).toEqual(['-c', '', 'a b'])
  })

  it('has the defaults instead of empty settings', () => {
    const registry = { host: '', username: '', password: '' }
    const empty = { lab: false, directory: '', args: [], onStart: '', label: '', registry }
    expect(mustCheckLaunch({ ...empty, environment: environment({ hostname: '' }) })).toEqual(mustCheckLaunch({}))
  })

  it.each<[string, LaunchInput, LaunchInput, string]>([
    [
      'image',
      { image: 'i'.repeat(1_024) },
      { image: 'i'.repeat(1_025) },
      'must have at most 1024 characters, not 1025.',
    ],
    [
      'onStart',
      { onStart: '😀'.repeat(4_048) },
      { onStart: '😀'.repeat(4_049) },
      'must have at most 4048 characters, not 4049.',
    ],
    ['label', { label: '😀'.repeat(256) }, { label: 'l'.repeat(257) }, 'must have at most 256 characters, not 257.'],
    ['diskGb', { diskGb: 8 }, { diskGb: 7.999 }, 'must be a number of GB from 8 to 100000, not 7.999.'],
    ['diskGb', { diskGb: 100_000 }, { diskGb: 100_001 }, 'must be a number of GB from 8 to 100000, not 100001.'],
    [
      'directory',
      { mode: 'jupyterDirect', directory: 'd'.repeat(4_096) },
      { mode: 'jupyterDirect', directory: 'd'.repeat(4_097) },
      'must have at most 4096 characters, not 4097.',
    ],
    [
      'args',
      { mode: 'args', args: ['a', '😀'.repeat(32_767)] },
      { mode: 'args', args: ['aa', 'a'.repeat(32_767)] },
      'must have at most 32768 characters in all, not 32769.',
    ],
    [
      'ports',
      { environment: environment({ ports: ports(64) }) },
      { environment: environment({ ports: ports(65) }) },
      'must have at most 64 ports, including those of the mode, not 65.',
    ],
    [
      'ports',
      { mode: 'jupyterDirect', environment: environment({ ports: ports(62) }) },
      { mode: 'jupyterDirect', environment: environment({ ports: ports(63) }) },
      'must have at most 64 ports, including those of the mode, not 65.',
    ],
    [
      'env',
      { environment: environment({ env: [{ name: 'A', value: '😀'.repeat(32_767) }] }) },
      { environment: environment({ env: [{ name: 'A', value: 'a'.repeat(32_768) }] }) },
      'must have at most 32768 characters in all names and values, not 32769.',
    ],
  ])('can have %s at its limit, but not beyond the limit', (path, at, beyond, message) => {
    mustCheckLaunch(at)
    expect(issuesOf(beyond)).toEqual([`${path}: ${message}`])
  })

  it.each<[LaunchInput, string]>([
    [{ image: undefined }, 'image: must be given, unless a template has one.'],
    [{ image: '' }, 'image: must be given, unless a template has one.'],
    [{ image: 'a b' }, 'image: must be the name of an image, without blanks.'],
    [{ image: 'a\n' }, 'image: must be the name of an image, without blanks.'],
    [{ image: '--privileged' }, 'image: must be the name of an image, without blanks.'],
    [{ image: 'a\0' }, 'image: must be well-formed Unicode without NUL.'],
    [{ onStart: '\ud800' }, 'onStart: must be well-formed Unicode without NUL.'],
    [{ label: '\0' }, 'label: must be well-formed Unicode without NUL.'],
    [{ mode: 'args', args: ['\ud83d', '\ude00'] }, 'args: must be well-formed Unicode without NUL.'],
    [{ mode: 'jupyterProxy', directory: '\0' }, 'directory: must be well-formed Unicode without NUL.'],
    [{ args: ['x'] }, 'args: can be given in args mode only.'],
    [{ mode: 'jupyterDirect', args: [''] }, 'args: can be given in args mode only.'],
    [{ lab: true }, 'lab: can be given in notebook modes only.'],
    [{ mode: 'args', directory: '/a' }, 'directory: can be given in notebook modes only.'],
    [{ diskGb: 0 }, 'diskGb: must be a number of GB from 8 to 100000, not 0.'],
    [{ diskGb: Number.NaN }, 'diskGb: must be a number of GB from 8 to 100000, not NaN.'],
    [{ diskGb: Number.POSITIVE_INFINITY }, 'diskGb: must be a number of GB from 8 to 100000, not Infinity.'],
    [
      { registry: { host: '', username: 'me', password: 'secret' } },
      'registry: must name a user, a password and a registry host.',
    ],
    [
      { registry: { host: '-a', username: 'me', password: 'secret' } },
      'registry: must name a registry host without blanks.',
    ],
    [{ environment: environment({ ports: [tcp(0)] }) }, 'ports.0: must have ports from 1 to 65535.'],
    [{ environment: environment({ hostname: 'a b' }) }, 'hostname: must be a name of letters, digits, -, _ and . that'],
    [{ environment: environment({ volumes: [{ volumeId: 1n, mountPath: 'x' }] }) }, 'volumes.0: must be mounted'],
  ])('is refused with %o', (input, message) => {
    expect(issuesOf(input)).toEqual([expect.stringContaining(message)])
  })

  it('is refused with all its issues', () => {
    const wrong = { image: '', lab: true, directory: '/', args: ['x'], onStart: '\0', diskGb: 1, label: '\0' }
    const env = [{ name: '1', value: '' }]
    const { issues } = checkLaunch({ ...wrong, environment: environment({ env }) })
    expect(issues.map(({ path }) => path)).toEqual([...Object.keys(wrong), 'env.1'])
  })

  it('sets the locale unless the environment does', () => {
    const utf8 = { pythonUtf8: true, langUtf8: true }
    const locale = [
      { name: 'PYTHONUTF8', value: '1' },
      { name: 'LANG', value: 'C.UTF-8' },
      { name: 'LC_ALL', value: 'C.UTF-8' },
    ]
    expect(mustCheckLaunch(utf8).env).toEqual(locale)
    expect(mustCheckLaunch({ pythonUtf8: true, langUtf8: false }).env).toEqual(locale.slice(0, 1))
    const own = { name: 'LANG', value: '' }
    expect(mustCheckLaunch({ ...utf8, environment: environment({ env: [own] }) }).env).toEqual([
      own,
      locale[0],
      locale[2],
    ])
  })

  it('has the ports of its mode once, at the requested host port', () => {
    expect(mustCheckLaunch({ mode: 'sshDirect' }).ports).toEqual([tcp(22)])
    expect(mustCheckLaunch({ mode: 'jupyterDirect' }).ports).toEqual([tcp(8080), tcp(22)])
    const portsFor = (mode: LaunchInput['mode'], ...requested: Environment['ports']) =>
      mustCheckLaunch({ mode, environment: environment({ ports: requested }) }).ports
    expect(portsFor('sshDirect', tcp(2222, 22), tcp(80))).toEqual([tcp(2222, 22), tcp(80)])
    expect(portsFor('jupyterDirect', tcp(2222, 22))).toEqual([tcp(8080), tcp(2222, 22)])
    expect(portsFor('sshDirect', tcp(22, 80))).toEqual([tcp(22), tcp(22, 80)])
    const udp = { ...tcp(22), protocol: 'udp' as const }
    expect(portsFor('sshDirect', udp)).toEqual([tcp(22), udp])
    expect(portsFor('sshProxy', tcp(80), tcp(80))).toEqual([tcp(80)])
  })

  it('can have 64 ports when those of its mode are among the requested ones', () => {
    const requested = environment({ ports: [tcp(2222, 22), tcp(9090, 8080), ...ports(62)] })
    expect(mustCheckLaunch({ mode: 'jupyterDirect', environment: requested }).ports).toHaveLength(64)
  })

  it('provisions ports in direct modes only', () => {
    expect(launchModes.map(modePortNumbers)).toEqual([[22], [], [8080, 22], [], []])
  })

  it('keeps an onStart that args mode does not run, with a warning', () => {
    const launch = mustCheckLaunch({ mode: 'args', onStart: 'echo hi' })
    expect(launch.onStart).toBe('echo hi')
    expect(launchWarningsOf(launch)).toEqual([
      'onStart is saved but not run: in args mode only the entrypoint of the image runs.',
    ])
    expect(launchWarningsOf(mustCheckLaunch({ onStart: 'echo hi' }))).toEqual([])
    expect(launchWarningsOf(mustCheckLaunch({ mode: 'args' }))).toEqual([])
  })
})

describe('a label', () => {
  it('can have 256 characters, but not 257', () => {
    expect(checkLabel('')).toBeUndefined()
    expect(checkLabel('😀'.repeat(256))).toBeUndefined()
    const message = 'must have at most 256 characters, not 257.'
    expect(checkLabel('😀'.repeat(257))).toEqual({ path: 'label', message })
  })
})

describe('an image login', () => {
  it.each([
    '-u me -p secret ghcr.io',
    'ghcr.io -p secret -u me',
    `-u 'me' -p "secret" 'ghcr.io'`,
    '--username me --password secret ghcr.io',
    '--username=me --password=secret ghcr.io',
    '-u=me -psecret ghcr.io',
    '-u you -u me -p secret ghcr.io',
  ])('is parsed: %j', text => {
    expect(parseImageLogin(text)).toEqual({ host: 'ghcr.io', username: 'me', password: 'secret' })
  })

  it('keeps blanks and quotes of a quoted password', () => {
    expect(parseImageLogin(`-u me -p '-a "b" \\' ghcr.io`)).toMatchObject({ password: '-a "b" \\' })
    expect(parseImageLogin(`-u me -p=' a=b ' ghcr.io`)).toMatchObject({ password: ' a=b ' })
  })

  const inAnotherForm = 'must be -u USER -p PASSWORD HOST; a value with blanks or a leading dash needs quotes or "=".'
  const unnamed = 'must name a user, a password and a registry host.'
  it.each([
    ['', unnamed],
    ['-u me -p secret', unnamed],
    ['-u me ghcr.io', unnamed],
    ['-u me -p "" ghcr.io', unnamed],
    ['-u me -p my secret ghcr.io', 'must name one registry host, not 2; a value with blanks needs quotes.'],
    ['-u me -p secret "a b"', 'must name a registry host without blanks.'],
    [`-u me -p secret ''`, unnamed],
    ['-u me -p secret -p', inAnotherForm],
    ['-u me --password-stdin ghcr.io', inAnotherForm],
    ['-u me -p half --the-other-half ghcr.io', inAnotherForm],
    [`-u me -p 'secret ghcr.io`, 'has a quote at character 10 that is not closed.'],
    ['-u me -p \0 ghcr.io', 'must be well-formed Unicode without NUL.'],
  ])('is refused without repeating any part of it: %j', (text, problem) => {
    expect(parseImageLogin(text)).toBe(problem)
  })

  it.each([
    ['host', 256],
    ['username', 256],
    ['password', 4_096],
  ] as const)('can have a %s of %d characters, but not of one more', (field, limit) => {
    const login = (length: number) => {
      const words = { host: 'h', username: 'u', password: 'p' }
      words[field] = 'x'.repeat(length)
      return parseImageLogin(`-u ${words.username} -p ${words.password} ${words.host}`)
    }
    expect(login(limit)).toMatchObject({ [field]: 'x'.repeat(limit) })
    expect(login(limit + 1)).toBe(`has a ${field} that must have at most ${limit} characters, not ${limit + 1}.`)
  })
})
