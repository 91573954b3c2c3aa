import { describe, expect, it } from 'vitest'
import { parseFlags, splitFlag } from '../../../src/domain/launch/docker-flags.ts'
import { printWords, splitWords, type Word } from '../../../src/domain/launch/shell-words.ts'
import { countCharacters, textProblem } from '../../../src/domain/texts.ts'

const textsOf = (line: string) => (splitWords(line) as Word[]).map(({ text }) => text)

describe('a command line', () => {
  it.each([
    ['', []],
    [' \t\r\n', []],
    ['a b', ['a', 'b']],
    ['  a\t\nb ', ['a', 'b']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`a'b'"c"d`, ['abcd']],
    [`a""`, ['a']],
    [`a"" ''b`, ['a', 'b']],
    [`""`, ['']],
    [`'' "" a`, ['', '', 'a']],
    [`''""`, ['']],
    [`a\\ b`, ['a b']],
    [`\\'\\"\\\\`, [`'"\\`]],
    [`'\\' b`, ['\\', 'b']],
    [`"\\"\\\\\\$\\\`"`, ['"\\$`']],
    [`"\\a\\n"`, ['\\a\\n']],
    [`"it's" 'say "x"'`, ["it's", 'say "x"']],
    ['a \\\n b', ['a', 'b']],
    ['a \\\r\n b', ['a', 'b']],
    ['a\\\nb "c\\\nd"', ['ab', 'cd']],
    [`'a\\\nb'`, ['a\\\nb']],
    ['$HOME *.ts ~ $(id) # a', ['$HOME', '*.ts', '~', '$(id)', '#', 'a']],
    ['a\u00a0b 😀', ['a\u00a0b', '😀']],
    ['\\😀', ['😀']],
  ])('is split into words: %j', (line, words) => {
    expect(textsOf(line)).toEqual(words)
  })

  it('is split into words with their positions, counted in characters', () => {
    expect(splitWords(`a  'b c' 😀"" \\d`)).toEqual([
      { text: 'a', at: 1 },
      { text: 'b c', at: 4 },
      { text: '😀', at: 10 },
      { text: 'd', at: 14 },
    ])
    expect(splitWords('\\😀 a')).toEqual([
      { text: '😀', at: 1 },
      { text: 'a', at: 4 },
    ])
  })

  it.each([
    [`a 'b`, 'has a quote at character 3 that is not closed.'],
    [`😀 a"b'`, 'has a quote at character 4 that is not closed.'],
    [`"a\\"`, 'has a quote at character 1 that is not closed.'],
    [`"a\\`, 'has a quote at character 1 that is not closed.'],
    [`'a'b'`, 'has a quote at character 5 that is not closed.'],
    ['a b\\', 'ends in a backslash, at character 4, that escapes nothing.'],
    ['\\\\\\', 'ends in a backslash, at character 3, that escapes nothing.'],
  ])('is refused: %j', (line, problem) => {
    expect(splitWords(line)).toBe(problem)
  })

  it.each([
    [[], ''],
    [['-e', 'A=1', '--env=B=/x,y:z@%+'], '-e A=1 --env=B=/x,y:z@%+'],
    [['', 'a b', "it's", '\\', '$A', 'é'], `'' 'a b' 'it'\\''s' '\\' '$A' 'é'`],
  ])('is printed from the words %j with quotes only where needed', (words, line) => {
    expect(printWords(words)).toBe(line)
  })

  it('is split without a timeout, even with millions of characters', () => {
    const long = 1_000_000
    expect(textsOf('a '.repeat(long))).toHaveLength(long)
    expect(textsOf('\\a'.repeat(long))).toEqual(['a'.repeat(long)])
    expect(textsOf(`"${'\\"'.repeat(long)}"`)).toEqual(['"'.repeat(long)])
    expect(splitWords(`"${'\\"a'.repeat(long)}`)).toBe('has a quote at character 1 that is not closed.')
    expect(splitWords(`${'a'.repeat(long)}'`)).toBe(`has a quote at character ${long + 1} that is not closed.`)
  })
})

describe('flags', () => {
  const names = new Map([
    ['-u', 'user'],
    ['--user', 'user'],
    ['-p', 'pass'],
  ] as const)
  const read = (line: string) => parseFlags(splitWords(line) as Word[], names)

  it.each(['-u me', '--user me', '--user=me', '-u=me', '-ume', `-u 'me'`])('have their value parsed from %s', line => {
    expect(read(line).flags).toMatchObject([{ name: 'user', value: 'me', at: 1 }])
  })

  it('take any next word as their value, and mix with other words', () => {
    const { flags, others, problems } = read(`a -u -p -p '' b`)
    expect(flags.map(({ name, value }) => [name, value])).toEqual([
      ['user', '-p'],
      ['pass', ''],
    ])
    expect(others.map(({ text }) => text)).toEqual(['a', 'b'])
    expect(problems).toEqual([])
  })

  it('are refused when they are unknown or lack a value', () => {
    const { flags, others, problems } = read(`--users me -x=1 more -ume - -- --=a '- secret' -p`)
    expect(flags).toMatchObject([{ name: 'user', value: 'me' }])
    expect(others).toEqual([])
    expect(problems.map(({ message }) => message)).toEqual([
      'has --users at character 1, which is not a known flag; use -u or -p.',
      'has -x at character 12, which is not a known flag; use -u or -p.',
      'has - at character 27, which is not a known flag; use -u or -p.',
      'has -- at character 29, which is not a known flag; use -u or -p.',
      'has --=a at character 32, which is not a known flag; use -u or -p.',
      'has - at character 37, which is not a known flag; use -u or -p.',
      'has -p at character 48 without a value.',
    ])
    expect(problems.map(({ at }) => at)).toEqual([1, 12, 27, 29, 32, 37, 48])
  })

  it('keep an attached value unchanged', () => {
    expect(splitFlag('-p= x ')).toEqual({ spelling: '-p', value: ' x ' })
    expect(splitFlag('-p=')).toEqual({ spelling: '-p', value: '' })
    expect(splitFlag('-p')).toEqual({ spelling: '-p', value: undefined })
    expect(splitFlag('--user=a=b\nc')).toEqual({ spelling: '--user', value: 'a=b\nc' })
  })
})

describe('a string', () => {
  it('is counted in code points', () => {
    expect(countCharacters('é😀a')).toBe(3)
    expect(countCharacters('\ude00\ud83d')).toBe(2)
  })

  it('is refused beyond its limit, ill-formed or with NUL', () => {
    expect(textProblem('😀😀', 2)).toBeUndefined()
    expect(textProblem('😀😀a', 2)).toBe('must have at most 2 characters, not 3.')
    expect(textProblem('a\0')).toBe('must be well-formed Unicode without NUL.')
    expect(textProblem('\ud83d')).toBe('must be well-formed Unicode without NUL.')
  })
})
