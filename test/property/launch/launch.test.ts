import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkEnvironment, dedupeEnvironment, type Environment, printPort } from '../../../src/domain/launch/env.ts'
import { parseEnvFlags, parseEnvObject, printEnvFlags } from '../../../src/domain/launch/env-flags.ts'
import {
  checkLaunch,
  type LaunchInput,
  launchModes,
  maxPorts,
  modePortNumbers,
} from '../../../src/domain/launch/launch.ts'
import { parseImageLogin } from '../../../src/domain/launch/registry.ts'
import { printWords, splitWords, type Word } from '../../../src/domain/launch/shell-words.ts'
import { countCharacters } from '../../../src/domain/texts.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 400)
const options = { seed, numRuns }

/** Texts full of characters with a meaning on a command line. */
const unit = fc.oneof(fc.constantFrom(...` \t\n\r'"\\$\`=-:/#`), fc.constantFrom('a', 'é', '😀', '\u00a0'))
const tricky = fc.string({ unit, maxLength: 12 })
const text = fc.oneof(tricky, fc.string({ unit: 'binary', maxLength: 12 })).filter(given => !given.includes('\0'))

const port = fc.record({
  hostPort: fc.integer({ min: 1, max: 65_535 }),
  containerPort: fc.oneof(fc.constantFrom(22, 8080), fc.integer({ min: 1, max: 65_535 })),
  protocol: fc.constantFrom('tcp' as const, 'udp' as const),
})
const environment: fc.Arbitrary<Environment> = fc.record({
  env: fc.array(fc.record({ name: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/), value: text })),
  ports: fc.array(port),
  hostname: fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/), { nil: undefined }),
  volumes: fc.array(
    fc.record({
      volumeId: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
      mountPath: text.map(path => `/a${path.replace(/[:.\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '')}`),
    }),
  ),
})

it('splits printed words into the same words', () => {
  const property = fc.property(fc.array(text), words => {
    expect((splitWords(printWords(words)) as Word[]).map(word => word.text)).toEqual(words)
  })
  fc.assert(property, options)
})

it('splits any text, or names the character at which it fails', () => {
  const property = fc.property(fc.oneof(tricky, fc.string({ unit: 'binary' })), line => {
    const words = splitWords(line)
    const places = typeof words === 'string' ? [Number(/character (\d+)/.exec(words)?.[1])] : words.map(({ at }) => at)
    for (const at of places) expect([...line][at - 1]).toMatch(/[^ \t\r\n]/)
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b))
  })
  fc.assert(property, options)
})

it('parses a printed environment to the same environment without duplicates', () => {
  const property = fc.property(environment, given => {
    const expected = { environment: dedupeEnvironment(given), issues: [] }
    expect(parseEnvFlags(printEnvFlags(dedupeEnvironment(given)))).toEqual(expected)
    expect(parseEnvFlags(printEnvFlags(given))).toEqual(expected)
    expect(dedupeEnvironment(dedupeEnvironment(given))).toEqual(dedupeEnvironment(given))
  })
  fc.assert(property, options)
})

/** Lines that are nearly valid. */
const line = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: environment.map(given => printEnvFlags(given)) },
      fc.constantFrom(
        '-e',
        '-p80:80',
        '--publish=80:81/udp',
        '-h',
        '-x',
        '-n name',
        'stray',
        '-e A',
        "-e 'A=b c'",
        '😀',
        '\n',
      ),
      tricky,
    ),
    { maxLength: 6 },
  )
  .map(parts => parts.join(' '))

it('prints the valid part of any line so that the output parses to the same environment', () => {
  const property = fc.property(line, given => {
    const { environment: read } = parseEnvFlags(given)
    expect(parseEnvFlags(printEnvFlags(read))).toEqual({ environment: read, issues: [] })
  })
  fc.assert(property, options)
})

it('names the character of each issue, in the order of the line', () => {
  const property = fc.property(line, given => {
    const characters = [...given]
    const places = parseEnvFlags(given).issues.map(({ message }) => {
      const [, spelling, at] =
        /^(?:has|ends in) (a word|a quote|a backslash,|-\S*) at character (\d+)/.exec(String(message)) ?? []
      if (spelling?.startsWith('-')) {
        const there = characters
          .slice(Number(at) - 1)
          .join('')
          .replace(/["'\\\n]/g, '')
        expect(there.startsWith(spelling.replace(/["'\\]/g, ''))).toBe(true)
      }
      expect(characters[Number(at) - 1]).toMatch(/[^ \t\r\n]/)
      return Number(at)
    })
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })
  fc.assert(property, options)
})

it('parses an object and the same settings as flags to the same environment', () => {
  const property = fc.property(environment, requested => {
    // Blanks at the end of a key do not count.
    const volumes = requested.volumes.map(volume => ({ ...volume, mountPath: volume.mountPath.trimEnd() }))
    const given = dedupeEnvironment({ ...requested, volumes })
    const { env, ports, hostname } = given
    const object = Object.fromEntries([
      ...env.map(({ name, value }) => [name, value]),
      ...ports.map(each => [`-p ${printPort(each)}`, '1']),
      ...(hostname ? [['-h', hostname]] : []),
      ...given.volumes.map(({ volumeId, mountPath }) => [`-v V.${volumeId}:${mountPath}`, '1']),
    ])
    expect(parseEnvObject(object)).toEqual(parseEnvFlags(printEnvFlags(given)))
  })
  fc.assert(property, options)
})

it('parses any text to a valid environment', () => {
  const flags = fc.array(fc.oneof(fc.constantFrom('-e', '-p', '-h', '-v', '--env=', '80:80', 'A=1', 'V.5:/a'), text))
  const keys = fc.oneof(
    text,
    fc.tuple(fc.constantFrom('-p', '-e', '-h', '-v'), tricky).map(parts => parts.join(' ')),
  )
  const property = fc.property(flags, fc.dictionary(keys, fc.anything()), (words, object) => {
    for (const { environment: read, issues } of [parseEnvFlags(words.join(' ')), parseEnvObject(object)]) {
      expect(checkEnvironment(read)).toEqual([])
      for (const { message } of issues) expect(message).toMatch(/^(must|has|is|ends) .*\.$/s)
    }
  })
  fc.assert(property, options)
})

it('parses a printed login to the same login', () => {
  const word = text.filter(given => given !== '')
  const host = fc.stringMatching(/^[a-z0-9][a-z0-9.:/-]{0,20}$/)
  const property = fc.property(word, word, host, (username, password, registry) => {
    const login = { host: registry, username, password }
    expect(parseImageLogin(printWords(['-u', username, '-p', password, registry]))).toEqual(login)
    expect(parseImageLogin(printWords([`--username=${username}`, registry, `-p=${password}`]))).toEqual(login)
  })
  fc.assert(property, options)
})

const launchInput: fc.Arbitrary<LaunchInput> = fc.record(
  {
    image: fc.constantFrom('', 'ubuntu', 'a b', 'i'.repeat(1_024), 'i'.repeat(1_025)),
    mode: fc.constantFrom(...launchModes),
    lab: fc.boolean(),
    directory: fc.constantFrom('', '/work', '\0'),
    args: fc.array(text, { maxLength: 3 }),
    environment,
    onStart: fc.oneof(text, fc.constantFrom('😀'.repeat(4_048), '😀'.repeat(4_049))),
    pythonUtf8: fc.boolean(),
    langUtf8: fc.boolean(),
    diskGb: fc.oneof(fc.double(), fc.constantFrom(8, 20)),
    label: fc.oneof(text, fc.constantFrom('l'.repeat(256), 'l'.repeat(257))),
    vm: fc.boolean(),
  },
  { requiredKeys: [] },
)

it('returns a launch within every limit, or refuses the input with issues', () => {
  const property = fc.property(launchInput, given => {
    const { launch, issues } = checkLaunch(given)
    expect(launch === undefined).toBe(issues.length > 0)
    if (!launch) return
    expect(launch.diskMb).toBeGreaterThanOrEqual(8_000)
    expect(countCharacters(launch.onStart ?? '')).toBeLessThanOrEqual(4_048)
    expect(countCharacters(launch.label ?? '')).toBeLessThanOrEqual(256)
    expect(launch.ports.length).toBeLessThanOrEqual(maxPorts)
    expect(new Set(launch.ports.map(printPort)).size).toBe(launch.ports.length)
    expect(new Set(launch.env.map(({ name }) => name)).size).toBe(launch.env.length)
    const containerPorts = launch.ports.map(({ containerPort }) => containerPort)
    expect(containerPorts).toEqual(expect.arrayContaining(modePortNumbers(launch.mode)))
  })
  fc.assert(property, options)
})

it('keeps a checked launch unchanged when it is checked again', () => {
  const fit = fc.record({ mode: fc.constantFrom('sshDirect' as const, 'jupyterDirect' as const), environment })
  const property = fc.property(fit, given => {
    const { launch } = checkLaunch({ image: 'ubuntu', pythonUtf8: true, langUtf8: true, ...given })
    if (!launch) return
    const { env, ports, hostname, mode, volumes } = launch
    const again = { env, ports, hostname: hostname ?? undefined, volumes }
    expect(checkLaunch({ image: 'ubuntu', mode, environment: again }).launch).toEqual(launch)
  })
  fc.assert(property, options)
})
