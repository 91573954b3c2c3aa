import { describe, expect, it } from 'vitest'
import {
  checkEnvironment,
  dedupeEnvironment,
  type Environment,
  emptyEnvironment,
} from '../../../src/domain/launch/env.ts'
import { parseEnvFlags, parseEnvObject, printEnvFlags } from '../../../src/domain/launch/env-flags.ts'

const environment = (given: Partial<Environment>): Environment => ({ ...emptyEnvironment(), ...given })
const variable = (name: string, value: string) => environment({ env: [{ name, value }] })
const port = (hostPort: number, containerPort: number, protocol: 'tcp' | 'udp' = 'tcp') =>
  environment({ ports: [{ hostPort, containerPort, protocol }] })
const volume = (volumeId: bigint, mountPath: string) => environment({ volumes: [{ volumeId, mountPath }] })
const maxName = 'N'.repeat(256)

const misnamed = 'must have a name of letters, digits and _ that does not start with a digit.'
const noPort = 'must be HOST:CONTAINER, HOST:CONTAINER/tcp or HOST:CONTAINER/udp.'
const outOfRange = 'must have ports from 1 to 65535.'
const noName = 'must be a name of letters, digits, -, _ and . that starts with a letter or a digit.'
const noPath = 'must be mounted on an absolute path without a colon.'
const rootPath = 'must be mounted below the root, on a path without . and .. in it.'
const kernelPath = 'must not be mounted at or below /proc, /sys, /dev or /.berth.'
const unknown = 'is not a known flag; use -e, -p, -h or -v.'

describe('an env object', () => {
  it.each([
    [{}, emptyEnvironment()],
    [{ A: '1' }, variable('A', '1')],
    [{ _a: '' }, variable('_a', '')],
    [{ A: 1.5 }, variable('A', '1.5')],
    [{ A: false }, variable('A', 'false')],
    [{ A: 12345678901234567890n }, variable('A', '12345678901234567890')],
    [{ A: null, B: undefined, '-p 1:x': null }, emptyEnvironment()],
    [{ [maxName]: 'a b' }, variable(maxName, 'a b')],
    [JSON.parse('{"__proto__": "x"}'), variable('__proto__', 'x')],
    [{ '-p 8080:80': '1' }, port(8080, 80)],
    [{ '-p  8080:80/tcp ': 1 }, port(8080, 80)],
    [{ '-p 53:53/udp': true }, port(53, 53, 'udp')],
    [{ '-p 53:53/UDP': 'true' }, port(53, 53, 'udp')],
    [{ '-p1:65535': '1' }, port(1, 65535)],
    [{ '--publish=65535:1': '1' }, port(65535, 1)],
    [{ '-p': '80:80' }, port(80, 80)],
    [{ '-p 80:80': false, '-p 99999:x': '' }, emptyEnvironment()],
    [{ '-h': 'box-1.local' }, environment({ hostname: 'box-1.local' })],
    [{ '-h box': '1' }, environment({ hostname: 'box' })],
    [{ '-h': '' }, emptyEnvironment()],
    [{ '-v V.881:/..mnt/a.b/...': '1' }, volume(881n, '/..mnt/a.b/...')],
    [{ '-v V.881:/mnt/my data': '1' }, volume(881n, '/mnt/my data')],
    [{ '-v V.9223372036854775807:/a': '1' }, volume(9223372036854775807n, '/a')],
    [{ '-e A=b=c d ': '1' }, variable('A', 'b=c d ')],
    [{ '--env A=': '1' }, variable('A', '')],
    [{ A: '1', '-e A=2': '1' }, variable('A', '2')],
    [{ '-p 80:80': '1', '-p 80:80/tcp': '1', '-p 080:80': '1' }, port(80, 80)],
  ])('is parsed: %o', (given, expected) => {
    expect(parseEnvObject(given)).toEqual({ environment: expected, issues: [] })
  })

  it.each([
    [{ '9A': '1' }, 'env.9A', misnamed],
    [{ 'A B': '1' }, 'env.A B', misnamed],
    [{ 'A\n': '1' }, 'env.A\n', misnamed],
    [{ é: '1' }, 'env.é', misnamed],
    [{ '\ud800': '1' }, 'env.\ufffd', misnamed],
    [{ [`${'.'.repeat(59)}😀`]: '1' }, `env.${'.'.repeat(59)}\ufffd…`, misnamed],
    [{ '': '1' }, 'env.', misnamed],
    [{ [`${maxName}N`]: '1' }, `env.${'N'.repeat(60)}…`, 'must have a name of at most 256 characters, not 257.'],
    [{ A: {} }, 'env.A', 'must be a string.'],
    [{ A: ['1'] }, 'env.A', 'must be a string.'],
    [{ A: Number.POSITIVE_INFINITY }, 'env.A', 'must be a string.'],
    [{ A: 'a\0' }, 'env.A', 'must be well-formed Unicode without NUL.'],
    [{ A: '\ud800' }, 'env.A', 'must be well-formed Unicode without NUL.'],
    [{ '-x': '1' }, 'env.-x', unknown],
    [{ '-n name': '1' }, 'env.-n name', unknown],
    [{ '--gpus all': '1' }, 'env.--gpus all', unknown],
    [{ '-': '1' }, 'env.-', unknown],
    [{ '--privileged': null, '--rm': '' }, 'env.--rm', unknown],
    [{ '-p 80': '1' }, 'env.-p 80', noPort],
    [{ '-p 80:80/sctp': '1' }, 'env.-p 80:80/sctp', noPort],
    [{ '-p 0:80': '1' }, 'env.-p 0:80', outOfRange],
    [{ '-p 80:65536': '1' }, 'env.-p 80:65536', outOfRange],
    [{ '-p 80:80': '0' }, 'env.-p 80:80', 'must have the value "1".'],
    [{ '-p 80:80': {} }, 'env.-p 80:80', 'must have the value "1".'],
    [{ '-h': {} }, 'env.-h', 'must be a string.'],
    [{ '-h': 'a b' }, 'env.-h', noName],
    [{ '-h': '-a' }, 'env.-h', noName],
    [{ '-h': 'h'.repeat(64) }, 'env.-h', 'must be a name of at most 63 characters, not 64.'],
    [{ '-v /host:/data': '1' }, 'env.-v /host:/data', 'must be V.ID:/PATH.'],
    [{ '-v V.5:data': '1' }, 'env.-v V.5:data', noPath],
    [{ '-v V.5:/data:ro': '1' }, 'env.-v V.5:/data:ro', noPath],
    [{ '-v V.5://': '1' }, 'env.-v V.5://', rootPath],
    [{ '-v V.5:/.': '1' }, 'env.-v V.5:/.', rootPath],
    [{ '-v V.5:/a/../..': '1' }, 'env.-v V.5:/a/../..', rootPath],
    [{ '-v V.5:/proc/x': '1' }, 'env.-v V.5:/proc/x', kernelPath],
    [{ '-v V.5://.berth': '1' }, 'env.-v V.5://.berth', kernelPath],
    [{ '-v V.0:/data': '1' }, 'env.-v V.0:/data', 'must name a volume by its id.'],
    [{ '-v V.9223372036854775808:/a': '1' }, 'env.-v V.9223372036854775808:/a', 'must name a volume by its id.'],
    [{ '-e A': '1' }, 'env.-e A', 'must be NAME=VALUE.'],
    [{ '-e A-B=secret': '1' }, 'env.-e A-B', misnamed],
  ])('is refused: %o', (given, path, message) => {
    expect(parseEnvObject(given)).toEqual({ environment: emptyEnvironment(), issues: [{ path, message }] })
  })

  it('can have a host name of 63 characters', () => {
    expect(parseEnvObject({ '-h': 'h'.repeat(63) }).issues).toEqual([])
  })

  it('is parsed into its valid parts and all of its issues', () => {
    const { environment: read, issues } = parseEnvObject({ A: '1', '-x': '1', '9': '1', '-p 80:80': '1' })
    expect(read).toEqual({ ...variable('A', '1'), ports: port(80, 80).ports })
    expect(issues.map(({ path }) => path).toSorted()).toEqual(['env.-x', 'env.9'])
  })
})

describe('env flags', () => {
  it('are parsed in every spelling', () => {
    const line = `-e A=1 --env 'B=a b' --env=C=3 -eD="" -p 80:80/udp --publish=81:81 -h name -v V.5:/data \\\n -v=V.6:/x`
    expect(parseEnvFlags(line)).toEqual({
      environment: {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: 'a b' },
          { name: 'C', value: '3' },
          { name: 'D', value: '' },
        ],
        ports: [...port(80, 80, 'udp').ports, ...port(81, 81).ports],
        hostname: 'name',
        volumes: [...volume(5n, '/data').volumes, ...volume(6n, '/x').volumes],
      },
      issues: [],
    })
  })

  it.each(['', ' \n '])('are an empty environment if they are %j', line => {
    expect(parseEnvFlags(line)).toEqual({ environment: emptyEnvironment(), issues: [] })
  })

  it('keep the last value of a variable and of the host name, and each port and volume once', () => {
    const line = '-e A=1 -e A=2 -h a -h b -h "" -p 80:80 -p 80:80/tcp -v V.5:/data -v V.5:/data'
    const { env } = variable('A', '2')
    const expected = { ...port(80, 80), env, hostname: 'b', volumes: volume(5n, '/data').volumes }
    expect(parseEnvFlags(line).environment).toEqual(expected)
  })

  it('keep ports that differ in any part', () => {
    expect(parseEnvFlags('-p 80:80 -p 80:80/udp -p 81:80 -p 80:81').environment.ports).toHaveLength(4)
  })

  it.each([
    ['-e "A=1', ['has a quote at character 4 that is not closed.']],
    ['-e A=1\\', ['ends in a backslash, at character 7, that escapes nothing.']],
    ['-e A=\0', ['must be well-formed Unicode without NUL.']],
    ['-e', ['has -e at character 1 without a value.']],
    ['-e A=😀 --gpus all', [`has --gpus at character 8, which ${unknown}`]],
    ['-e A=my secret', ['has a word at character 9 that belongs to no flag; blanks in a value need quotes.']],
    [
      '-e A -p 80 -h _ -v 5',
      [
        'has -e at character 1, which must be NAME=VALUE.',
        `has -p at character 6, which ${noPort}`,
        `has -h at character 12, which ${noName}`,
        'has -v at character 17, which must be V.ID:/PATH.',
      ],
    ],
    [
      '-p= 80:80',
      [
        `has -p at character 1, which ${noPort}`,
        'has a word at character 5 that belongs to no flag; blanks in a value need quotes.',
      ],
    ],
    ['-p 0:1', [`has -p at character 1, which ${outOfRange}`]],
    ['-e 1=x', [`has -e at character 1, which ${misnamed}`]],
  ])('in %j are refused with the position and the reason', (line, messages) => {
    expect(parseEnvFlags(line).issues).toEqual(messages.map(message => ({ path: 'env', message })))
  })

  it('are printed with quotes only where needed', () => {
    const { env } = variable('A', `it's`)
    const given = { env, hostname: 'box', ports: port(80, 80, 'udp').ports, volumes: volume(5n, '/a b').volumes }
    expect(printEnvFlags(given)).toBe(`-e 'A=it'\\''s' -p 80:80/udp -h box -v 'V.5:/a b'`)
    expect(printEnvFlags(emptyEnvironment())).toBe('')
  })
})

describe('an environment', () => {
  it('can have 32768 characters in all names and values, but not 32769', () => {
    const half = { name: 'A', value: '😀'.repeat(16_383) }
    const other = { name: 'B', value: 'b'.repeat(16_383) }
    expect(checkEnvironment(environment({ env: [half, other] }))).toEqual([])
    const message = 'must have at most 32768 characters in all names and values, not 32769.'
    const more = environment({ env: [half, { ...other, name: 'BB' }] })
    expect(checkEnvironment(more)).toEqual([{ path: 'env', message }])
  })

  it('is checked by the same rules when it did not come from flags', () => {
    const wrong = {
      env: [
        { name: 'A-B', value: '' },
        { name: 'C', value: '\0' },
      ],
      ports: [...port(1.5, 80).ports, ...port(80, Number.NaN, 'udp').ports],
      hostname: 'a b',
      volumes: [...volume(-1n, '/a').volumes, ...volume(1n, `/${'a'.repeat(4_096)}`).volumes],
    }
    expect(checkEnvironment(wrong)).toEqual([
      { path: 'env.A-B', message: misnamed },
      { path: 'env.C', message: 'must be well-formed Unicode without NUL.' },
      { path: 'ports.0', message: outOfRange },
      { path: 'ports.1', message: outOfRange },
      { path: 'hostname', message: noName },
      { path: 'volumes.0', message: 'must name a volume by its id.' },
      { path: 'volumes.1', message: 'must have at most 4096 characters, not 4097.' },
    ])
    expect(checkEnvironment(volume(1n, `/${'a'.repeat(4_095)}`))).toEqual([])
  })

  it('has no host name if the given host name is empty', () => {
    expect(dedupeEnvironment(environment({ hostname: '' }))).toEqual(emptyEnvironment())
  })
})
