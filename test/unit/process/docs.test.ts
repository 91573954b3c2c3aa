import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, chapterOf, pages, readPage } from '../../support/docs.ts'

const root = join(import.meta.dirname, '../../..')
const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts)
const shellKinds = [
  ...['sh', 'sh stream', 'sh login', 'sh host', 'sh firewall', 'sh operate', 'sh roles', 'sh develop'],
  ...['sh backup', 'sh upgrade', 'sh traces', 'sh deploy'],
]

const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts') && !path.includes('generated'))
  .map(path => readFileSync(join(root, 'src', path), 'utf8'))
  .join('\n')

/** Quoted texts that end as messages do. */
const sentencesIn = (text: string) => [...text.matchAll(/"([A-Z][^"`]*\.)"/g)].map(([, sentence]) => sentence as string)

describe.each(pages)('%s', page => {
  const text = readPage(page)

  it('says in its first sentence what it is for', () => {
    expect(text).toMatch(/^# .+\n\n[A-Z].+/)
  })

  it('has shell snippets that can be pasted: no placeholder, and no comment, which zsh runs as a command', () => {
    const lines = shellKinds.flatMap(kind => blocksOf(text, kind)).flatMap(block => block.split('\n'))
    expect(lines.filter(line => /…|(^|\s)#/.test(line))).toEqual([])
  })

  it('has only code blocks that a test runs, and drawings, answers and files', () => {
    const infos = [...text.matchAll(/^```(.+)$/gm)].map(([, info]) => info)
    expect(
      infos.filter(
        info =>
          ![
            ...shellKinds,
            'js',
            'js traces',
            'json',
            'python',
            'ts',
            'csv',
            'ini',
            'sql',
            'yaml patroni',
            'yaml prometheus',
            'haproxy',
          ].includes(info as string),
      ),
    ).toEqual([])
  })

  it('links to pages and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link]) => link as string)
    const broken = links.filter(link => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : normalize(join(dirname(page), path))
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  it('names files and npm scripts that exist', () => {
    const paths = [...text.matchAll(/`((?:src|test|prisma|docs)\/[\w./-]+)`/g)].map(([, path]) => path as string)
    expect(paths.filter(path => !existsSync(join(root, path)))).toEqual([])
    const named = [...text.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name as string)
    expect(named.filter(name => !scripts.includes(name))).toEqual([])
  })

  it('quotes sentences as the program says them', () => {
    const isSaid = (sentence: string) => sentence.split(/\w*\d\w*/).every(part => source.includes(part))
    expect(sentencesIn(text).filter(sentence => !isSaid(sentence))).toEqual([])
  })

  it('has snippets for developers whose commands npm knows', () => {
    const known = [
      'ci',
      ...scripts.filter(name => ['start', 'test'].includes(name)),
      ...scripts.map(name => `run ${name}`),
    ]
    const commands = blocksOf(text, 'sh develop').flatMap(block => block.trimEnd().split(/\n| && /))
    expect(commands.filter(command => !known.includes(command.replace(/^npm /, '')))).toEqual([])
  })
})

/** The names by which headings of a page are linked to. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}

it('the alert rules quote messages and commands as the program has them', () => {
  const text = readFileSync(join(root, 'docs/monitoring/alerts.yml'), 'utf8')
  const quoted = [...text.matchAll(/^ +(?:description: )?[A-Z].*$/gm)]
    .flatMap(([line]) => [...line.matchAll(/"([^"]+)"/g)])
    .map(([, quote]) => quote as string)
  expect(quoted).toContain('A REST request failed.')
  const isKnown = (quote: string) => source.includes(`'${quote.replace(/ --.*/, '')}'`)
  expect(quoted.filter(quote => !isKnown(quote))).toEqual([])
})

it('the README fits on a few screens, and leads to every page', () => {
  const readme = readPage('README.md')
  expect(readme.split('\n').length).toBeLessThan(160)
  expect(pages.filter(page => page !== 'README.md' && !readme.includes(`](${page})`))).toEqual([])
})

it('docs/operating.md explains every setting, and no other', () => {
  const config = readFileSync(join(root, 'src/config.ts'), 'utf8')
  const settings = [...config.matchAll(/^ {2}([A-Z_]+): /gm)].map(([, name]) => name as string)
  const rows = chapterOf(readPage('docs/operating.md'), '## Settings').match(/^\| `.*?`(, `.*?`)? \|/gm) ?? []
  const explained = rows.flatMap(row => [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name as string))
  expect(settings.length).toBeGreaterThan(20)
  expect(explained.toSorted()).toEqual(settings.toSorted())
})

it('docs/graphql.md shows the example that the type checker knows', () => {
  const [shown = ''] = blocksOf(readPage('docs/graphql.md'), 'ts')
  const example = readFileSync(join(root, 'test/client/example.ts'), 'utf8')
  const [, body = ''] = /: Choice\) \{\n(.*)\n\}\n$/s.exec(example) ?? []
  expect(body.replaceAll(/^ {2}/gm, '')).toBe(shown.trimEnd())
})

describe('docs/berth.sh', () => {
  let home: string

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'berth-home-'))
  })

  afterAll(() => rmSync(home, { recursive: true }))

  const load = (command: string, variables: Record<string, string>) =>
    String(
      execFileSync('sh', ['-euc', `. docs/berth.sh; ${command}`], {
        cwd: root,
        env: { PATH: process.env['PATH'], HOME: home, ...variables },
      }),
    )

  it.each([
    ['.local/share/berth/demo-key', {}],
    ['Library/Application Support/Berth/demo-key', {}],
    ['elsewhere/berth/demo-key', { XDG_DATA_HOME: 'elsewhere' }],
    ['data/demo-key', { BERTH_DATA_DIR: 'data' }],
  ])('reads the demo key from %s', (path, folders) => {
    const file = join(home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, 'berth_1_secret')
    const variables = Object.fromEntries(Object.entries(folders).map(([name, folder]) => [name, join(home, folder)]))
    expect(load('echo "$KEY"', variables)).toBe('berth_1_secret\n')
    rmSync(file)
  })

  it('keeps the key and the address that are set', () => {
    expect(load('echo "$KEY $BERTH"', { KEY: 'mine', BERTH: 'https://berth.example.com' })).toBe(
      'mine https://berth.example.com\n',
    )
  })

  it.each([
    ['a text', 'a=off_1', { a: 'off_1' }],
    ['a text with signs that have a meaning', 'a="b\\:=5\nc', { a: '"b\\:=5\nc' }],
    ['a number', 'a:=5', { a: 5 }],
    ['any JSON', 'a:={"b": [true, "c:=d"]}', { a: { b: [true, 'c:=d'] } }],
  ])('sends a variable that is %s', (_name, pair, variables) => {
    const command = 'curl() { for last; do :; done; printf %s "$last"; }; gql "{ x }" "$PAIR" b=2'
    const sent = JSON.parse(load(command, { KEY: 'mine', PAIR: pair }))
    expect(sent).toEqual({ query: '{ x }', variables: { ...variables, b: '2' } })
  })

  it('reads the first id with a prefix', () => {
    expect(load(`echo '{"a":"off_1","b":"mch_7","c":"mch_8"}' | first mch`, { KEY: 'mine' })).toBe('mch_7\n')
  })
})
