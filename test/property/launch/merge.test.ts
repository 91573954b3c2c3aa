import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dedupeEnvironment, emptyEnvironment, printPort } from '../../../src/domain/launch/env.ts'
import { checkLaunch, type LaunchInput, launchModes } from '../../../src/domain/launch/launch.ts'
import { mergeLaunch, resolveLaunch } from '../../../src/domain/launch/merge.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 400)
const options = { seed, numRuns }

/** Few values of each, so that template and request often set the same. */
const environment = fc.record({
  env: fc.array(
    fc.record(
      {
        name: fc.constantFrom('A', 'B', 'LANG', 'PYTHONUTF8', '__proto__'),
        value: fc.constantFrom('1', '2'),
        secret: fc.constant(true as const),
      },
      { requiredKeys: ['name', 'value'] },
    ),
    { maxLength: 4 },
  ),
  ports: fc.array(
    fc.record({
      hostPort: fc.constantFrom(22, 80, 8080),
      containerPort: fc.constantFrom(22, 80, 8080),
      protocol: fc.constantFrom('tcp' as const, 'udp' as const),
    }),
    { maxLength: 4 },
  ),
  hostname: fc.constantFrom(undefined, '', 'one', 'two'),
  volumes: fc.array(fc.record({ volumeId: fc.constantFrom(1n, 2n), mountPath: fc.constant('/data') }), {
    maxLength: 2,
  }),
})
const login = fc.record({
  host: fc.constantFrom('', 'ghcr.io'),
  username: fc.constantFrom('', 'u', 'v'),
  password: fc.constantFrom('', 'p'),
})
const rest = {
  image: fc.constantFrom('', 'ubuntu', 'torch'),
  environment,
  onStart: fc.constantFrom('', 'go', 'run'),
  pythonUtf8: fc.boolean(),
  langUtf8: fc.boolean(),
  registry: login,
  diskGb: fc.constantFrom(8, 20, 1),
}
const modeFields = {
  mode: fc.constantFrom(...launchModes),
  lab: fc.boolean(),
  directory: fc.constantFrom('', '/work', '/home'),
  args: fc.constantFrom<string[]>([], ['a'], ['b', 'c']),
}
const modeless: fc.Arbitrary<LaunchInput> = fc.record(rest, { requiredKeys: [] })
const template: fc.Arbitrary<LaunchInput> = fc.record({ ...rest, ...modeFields }, { requiredKeys: [] })
const request: fc.Arbitrary<LaunchInput> = fc.record(
  {
    ...rest,
    ...modeFields,
    label: fc.constantFrom('', 'mine'),
    vm: fc.boolean(),
    targetState: fc.constantFrom('running' as const, 'stopped' as const),
    parseIssues: fc.array(fc.record({ path: fc.constant('env'), message: fc.constant('must not be.') }), {
      maxLength: 1,
    }),
  },
  { requiredKeys: [] },
)

const isGiven = (value: unknown) =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '' && value !== false
const names = (input: LaunchInput) => new Set(input.environment?.env.map(({ name }) => name))
const ports = (input: LaunchInput) => new Set(input.environment?.ports.map(printPort))

it('resolves a request without a template unchanged, with the request as its only source', () => {
  const property = fc.property(request, input => {
    const { launch, issues } = resolveLaunch(undefined, input)
    const { sources, ...settings } = launch ?? {}
    expect([launch && settings, issues]).toEqual([checkLaunch(input).launch, checkLaunch(input).issues])
    expect(new Set(Object.values(sources ?? {}))).toEqual(new Set(Object.keys(sources ?? {}).length ? ['request'] : []))
  })
  fc.assert(property, options)
})

it('changes nothing when the request is empty or repeats the template', () => {
  const property = fc.property(template, input => {
    const alone = checkLaunch({ ...input, environment: { ...(input.environment ?? emptyEnvironment()), volumes: [] } })
    for (const same of [{}, { ...input, environment: input.environment && { ...input.environment, volumes: [] } }]) {
      const { input: merged } = mergeLaunch(input, same)
      expect(checkLaunch(merged)).toEqual(alone)
      expect(mergeLaunch(merged, merged).input).toEqual(merged)
    }
  })
  fc.assert(property, options)
})

it('keeps every setting of the request, and takes all other settings from the template', () => {
  const property = fc.property(template, request, (before, own) => {
    const { input } = mergeLaunch(before, own)
    const isOther = own.mode !== undefined && own.mode !== before.mode
    const ofMode = ['lab', 'directory', 'args'] as const
    for (const name of ['image', 'onStart', 'diskGb', 'mode', 'pythonUtf8', 'langUtf8', ...ofMode] as const) {
      const dropped = isOther && ofMode.some(other => other === name)
      const inherited = isGiven(before[name]) && !dropped ? before[name] : undefined
      expect(input[name]).toEqual(isGiven(own[name]) ? own[name] : inherited)
    }
    expect([input.label, input.vm, input.targetState]).toEqual([own.label, own.vm, own.targetState])
    expect(input.parseIssues).toEqual(own.parseIssues ?? [])
  })
  fc.assert(property, options)
})

it('keeps the variables and ports of template and request, and prefers the values of the request', () => {
  const property = fc.property(template, request, (before, own) => {
    const { input } = mergeLaunch(before, own)
    const [base, requested] = [before, own].map(side => dedupeEnvironment(side.environment ?? emptyEnvironment()))
    expect(input.environment?.env).toEqual(expect.arrayContaining(requested?.env ?? []))
    expect(names(input)).toEqual(new Set([...names(before), ...names(own)]))
    expect(ports(input)).toEqual(new Set([...ports(before), ...ports(own)]))
    expect(input.environment?.hostname).toBe(requested?.hostname ?? base?.hostname)
    expect(input.environment?.volumes).toEqual(requested?.volumes)
    for (const variable of base?.env ?? []) {
      if (!names(own).has(variable.name)) expect(input.environment?.env).toContainEqual(variable)
    }
  })
  fc.assert(property, options)
})

it('has a source for every setting that is not a default, and for no other setting', () => {
  const property = fc.property(template, request, (before, own) => {
    const { launch } = resolveLaunch({ image: 'torch', ...before }, own)
    if (!launch) return
    const { sources, env, ports: launchPorts, image, lab, directory, onStart, hostname, registry } = launch
    const lists = [...env.map(({ name }) => `env.${name}`), ...launchPorts.map(port => `ports.${printPort(port)}`)]
    const scalars = Object.entries({ image, lab, directory, onStart, hostname, registry, args: launch.args[0] })
    const given = scalars.flatMap(([name, value]) => (value ? [name] : []))
    // A given setting has a source even if it equals the default.
    const maybe = (['mode', 'diskGb'] as const).filter(name => (own[name] ?? before[name]) !== undefined)
    expect(Object.keys(sources).toSorted()).toEqual([...lists, ...given, ...maybe].toSorted())
  })
  fc.assert(property, options)
})

it('names the request as the source of exactly the settings that the request has', () => {
  const property = fc.property(template, request, (before, own) => {
    const { sources } = mergeLaunch(before, own)
    const [ofRequest, ofTemplate] = [mergeLaunch(undefined, own).sources, mergeLaunch(undefined, before).sources]
    for (const [path, source] of Object.entries(sources)) {
      expect(source === 'request' ? ofRequest : ofTemplate).toHaveProperty([path])
    }
    const settings = Object.entries(sources).filter(([path]) => !/^(env|ports)\./.test(path))
    for (const [path, source] of settings) expect([path, source === 'request']).toEqual([path, path in ofRequest])
  })
  fc.assert(property, options)
})

it('merges three inputs to the same in any grouping, unless the mode of the second drops settings of the first', () => {
  const property = fc.property(modeless, modeless, modeless, (first, second, third) => {
    const left = mergeLaunch(mergeLaunch(first, second).input, third).input
    const right = mergeLaunch(first, mergeLaunch(second, third).input).input
    expect(left).toEqual(right)
  })
  fc.assert(property, options)
  const [first, second, third]: LaunchInput[] = [{ mode: 'args', args: ['a'] }, { mode: 'sshProxy' }, { mode: 'args' }]
  const merge = (template: LaunchInput = {}, request: LaunchInput = {}) => mergeLaunch(template, request).input
  expect(merge(merge(first, second), third).args).toBeUndefined()
  expect(merge(first, merge(second, third)).args).toEqual(['a'])
})
