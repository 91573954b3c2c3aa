import { describe, expect, it } from 'vitest'
import { type Environment, emptyEnvironment } from '../../../src/domain/launch/env.ts'
import type { LaunchInput } from '../../../src/domain/launch/launch.ts'
import { mergeLaunch, resolveLaunch } from '../../../src/domain/launch/merge.ts'

const environment = (parts: Partial<Environment>) => ({ ...emptyEnvironment(), ...parts })
const variables = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }))
const port = (hostPort: number, containerPort = hostPort, protocol: 'tcp' | 'udp' = 'tcp') => {
  return { hostPort, containerPort, protocol }
}
const login = (host: string) => ({ host, username: 'u', password: 'p' })

/** Resolves the launch of a template and a request, and expects no issues. */
function mustResolveLaunch(template: LaunchInput | undefined, request: LaunchInput) {
  const { launch, issues } = resolveLaunch(template, request)
  expect(issues).toEqual([])
  return launch as NonNullable<typeof launch>
}

describe('a request with a template', () => {
  it('keeps the settings of the template, adds its own, and takes precedence in a conflict', () => {
    const template = {
      image: 'torch',
      onStart: 'begin',
      diskGb: 20,
      environment: environment({ env: variables({ A: '1', B: '2' }), ports: [port(80)], hostname: 'old' }),
    }
    const request = {
      onStart: 'go',
      environment: environment({ env: variables({ B: '3', C: '4' }), ports: [port(80, 81)], hostname: 'new' }),
    }
    const launch = mustResolveLaunch(template, request)
    expect(launch).toMatchObject({
      image: 'torch',
      onStart: 'go',
      diskMb: 20_000,
      hostname: 'new',
      env: variables({ A: '1', B: '3', C: '4' }),
      ports: [port(80), port(80, 81)],
    })
    expect(launch.sources).toEqual({
      image: 'template',
      diskGb: 'template',
      'env.A': 'template',
      'ports.80:80': 'template',
      onStart: 'request',
      hostname: 'request',
      'env.B': 'request',
      'env.C': 'request',
      'ports.80:81': 'request',
    })
  })

  it.each([
    ['empty strings', { image: '', onStart: '', directory: '' }],
    ['false', { lab: false, pythonUtf8: false, langUtf8: false, vm: false }],
    ['no arguments', { args: [] }],
    ['empty credentials', { registry: { host: '', username: '', password: '' } }],
    ['an empty environment', { environment: environment({ hostname: '' }) }],
  ])('changes nothing with %s', (_name, request) => {
    const template: LaunchInput = {
      image: 'torch',
      mode: 'jupyterProxy',
      lab: true,
      directory: '/work',
      onStart: 'begin',
      pythonUtf8: true,
      registry: login('ghcr.io'),
      environment: environment({ env: variables({ A: '1' }), hostname: 'box' }),
    }
    expect(mustResolveLaunch(template, request)).toEqual(mustResolveLaunch(template, {}))
  })

  it('replaces registry credentials as a whole, and keeps them when it has none', () => {
    const template = { image: 'torch', registry: login('ghcr.io') }
    expect(mustResolveLaunch(template, {})).toMatchObject({
      registry: login('ghcr.io'),
      sources: { registry: 'template' },
    })
    const half = { host: 'quay.io', username: 'me', password: '' }
    expect(mergeLaunch(template, { registry: half }).input.registry).toEqual(half)
    expect(mustResolveLaunch(template, { registry: login('quay.io') }).sources['registry']).toBe('request')
  })

  it('replaces a variable as a whole, including its secrecy', () => {
    const secret = environment({ env: [{ name: 'TOKEN', value: 'hidden', secret: true }] })
    expect(mustResolveLaunch({ image: 'torch', environment: secret }, {}).env).toEqual(secret.env)
    const plain = environment({ env: variables({ TOKEN: 'shown' }) })
    expect(mustResolveLaunch({ image: 'torch', environment: secret }, { environment: plain }).env).toEqual(plain.env)
    expect(mustResolveLaunch({ image: 'torch', environment: plain }, { environment: secret }).env).toEqual(secret.env)
  })

  it('attaches only its own volumes', () => {
    const volumes = (id: bigint) => environment({ volumes: [{ volumeId: id, mountPath: '/data' }] })
    expect(mustResolveLaunch({ image: 'torch', environment: volumes(1n) }, {}).volumes).toEqual([])
    const both = mustResolveLaunch({ image: 'torch', environment: volumes(1n) }, { environment: volumes(2n) })
    expect(both.volumes).toEqual([{ volumeId: 2n, mountPath: '/data' }])
  })

  const notebook: LaunchInput = { image: 'torch', mode: 'jupyterDirect', lab: true, directory: '/work' }

  it('drops the settings and ports of the template mode when it picks another mode', () => {
    const launch = mustResolveLaunch(notebook, { mode: 'sshDirect' })
    expect(launch).toMatchObject({ mode: 'sshDirect', lab: false, directory: null, ports: [port(22)] })
    expect(launch.sources).toEqual({ image: 'template', mode: 'request', 'ports.22:22': 'request' })
    const echo: LaunchInput = { image: 'torch', mode: 'args', args: ['echo'] }
    expect(mustResolveLaunch(echo, { mode: 'sshProxy' }).args).toEqual([])
  })

  it('keeps the settings of the mode when it picks the same mode', () => {
    const launch = mustResolveLaunch(notebook, { mode: 'jupyterDirect', directory: '/home' })
    expect(launch).toMatchObject({ lab: true, directory: '/home' })
    expect(launch.sources).toEqual({
      image: 'template',
      lab: 'template',
      mode: 'request',
      directory: 'request',
      'ports.8080:8080': 'request',
      'ports.22:22': 'request',
    })
  })

  it('is the source of a port that it names, even if the mode adds that port too', () => {
    const request = { environment: environment({ ports: [port(2222, 22)] }) }
    expect(mustResolveLaunch(notebook, request).sources).toMatchObject({
      'ports.8080:8080': 'template',
      'ports.2222:22': 'request',
    })
    expect(mustResolveLaunch(notebook, request).sources).not.toHaveProperty('ports.22:22')
  })

  it('takes each locale flag from the side that sets it, unless a variable overrides it', () => {
    const english = environment({ env: variables({ LANG: 'en_US.UTF-8' }) })
    const launch = mustResolveLaunch({ image: 'torch', environment: english, pythonUtf8: true }, { langUtf8: true })
    expect(launch.env).toEqual(variables({ LANG: 'en_US.UTF-8', PYTHONUTF8: '1', LC_ALL: 'C.UTF-8' }))
    expect(launch.sources).toMatchObject({
      'env.LANG': 'template',
      'env.PYTHONUTF8': 'template',
      'env.LC_ALL': 'request',
    })
  })

  it('is refused with all issues of the template and the request at once', () => {
    const { issues } = resolveLaunch(notebook, { mode: 'sshProxy', lab: true, diskGb: 1, onStart: 'x'.repeat(4_049) })
    expect(issues.map(({ path }) => path)).toEqual(['lab', 'onStart', 'diskGb'])
  })

  it('needs an image from the template or the request', () => {
    expect(resolveLaunch({}, {}).issues.map(({ path }) => path)).toEqual(['image'])
    expect(mustResolveLaunch({ image: 'torch' }, { image: 'ubuntu' })).toMatchObject({
      image: 'ubuntu',
      sources: { image: 'request' },
    })
  })
})

describe('a request that leaves out secrets', () => {
  const secret = (name: string, value: string) => ({ name, value, secret: true as const })
  const env = (...each: Environment['env']) => ({ environment: environment({ env: each }) })

  it('keeps those of the template and of the account, which stay their sources', () => {
    const template = { image: 'torch', ...env(secret('A', 'of the template')) }
    const request = env(secret('A', ''), secret('B', ''), secret('C', 'own'))
    const known = [secret('A', 'of the account'), secret('B', 'of the account')]
    const { launch } = resolveLaunch(template, request, known)
    expect(launch?.env).toEqual([secret('B', 'of the account'), secret('A', 'of the template'), secret('C', 'own')])
    expect(launch?.sources).toMatchObject({ 'env.A': 'template', 'env.B': 'account', 'env.C': 'request' })
  })

  it('is refused for a secret that neither has, or that the template has in plain text', () => {
    const template = { image: 'torch', ...env({ name: 'A', value: 'plain' }) }
    const { issues } = resolveLaunch(template, env(secret('A', ''), secret('B', '')), [secret('A', 'of the account')])
    const message = 'must have a value, because it is secret.'
    expect(issues).toEqual([
      { path: 'env.A', message },
      { path: 'env.B', message },
    ])
  })

  it('keeps the password of the same host and user alone', () => {
    const template = { image: 'torch', registry: login('ghcr.io') }
    const request = (host: string) => ({ registry: { ...login(host), password: '' } })
    const { launch } = resolveLaunch(template, request('ghcr.io'))
    expect([launch?.registry, launch?.sources['registry']]).toEqual([login('ghcr.io'), 'template'])
    expect(resolveLaunch(template, request('evil.example')).issues).toMatchObject([{ path: 'registry' }])
  })
})

describe('a request that gives its mode whole', () => {
  it('takes no setting of the same mode from the template', () => {
    const template = { image: 'torch', mode: 'jupyterDirect' as const, lab: true, directory: '/work' }
    const part = { mode: 'jupyterDirect' as const }
    expect(mustResolveLaunch(template, part)).toMatchObject({ lab: true, directory: '/work' })
    const launch = mustResolveLaunch(template, { ...part, modeIsWhole: true })
    expect(launch).toMatchObject({ mode: 'jupyterDirect', lab: false, directory: null })
    expect(launch.sources).toMatchObject({ mode: 'request' })
    expect(launch.sources).not.toHaveProperty('lab')
  })
})
