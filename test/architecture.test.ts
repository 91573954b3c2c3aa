import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Which folders the files of a folder may import from, beside their own. */
const arrows: Record<string, string[]> = {
  domain: [],
  database: ['domain'],
  services: ['domain', 'database'],
  http: ['domain'],
  auth: ['domain', 'services'],
  graphql: ['domain', 'services', 'auth', 'http', 'database/generated'],
  rest: ['domain', 'services', 'auth', 'http'],
}

const reasons: Record<string, string> = {
  domain: 'Rules are pure: they know nothing of databases, faces or packages.',
  database: 'The database knows no use case: move this into a service.',
  services: 'Services know no face: whoever asks gets the same answer.',
  http: 'What surrounds both faces knows neither of them.',
  auth: 'Authentication turns a request into an actor, by asking a service.',
  graphql: 'A face asks services. It has no rule and no query of its own, and knows no other face.',
  rest: 'A face asks services. It has no rule and no query of its own, and knows no other face.',
}

type File = { path: string; folder: string; text: string; imports: string[] }

const files: File[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts') && !path.includes('generated'))
  .map(path => {
    const text = readFileSync(join(root, 'src', path), 'utf8')
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name as string)
    return { path, folder: path.includes('/') ? (path.split('/')[0] as string) : '', text, imports }
  })

/** Where a relative import leads, from src: "database/client.ts". */
function targetOf(file: File, name: string): string {
  return relative(join(root, 'src'), join(root, 'src', dirname(file.path), name))
}

describe('the arrows', () => {
  it('is read from the files that there are', () => {
    expect(new Set(files.map(({ folder }) => folder))).toEqual(new Set(['', ...Object.keys(arrows)]))
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(150)
  })

  it.each(Object.keys(arrows))('of %s point towards the domain', folder => {
    const broken = files
      .filter(file => file.folder === folder)
      .flatMap(file =>
        file.imports
          .filter(name => name.startsWith('.'))
          .map(name => targetOf(file, name))
          .filter(target => ![folder, ...(arrows[folder] ?? [])].some(allowed => target.startsWith(`${allowed}/`)))
          .map(target => `src/${file.path} imports ${target}. ${reasons[folder]}`),
      )
    expect(broken).toEqual([])
  })

  it('only app.ts, main.ts and cli.ts know everything', () => {
    const broken = files
      .filter(({ folder }) => folder !== '')
      .flatMap(file => file.imports.map(name => ({ file, target: targetOf(file, name) })))
      .filter(({ target }) => /^(app|main|cli|config)\.ts$/.test(target))
      .map(({ file, target }) => `src/${file.path} imports ${target}: what it needs is passed to it.`)
    expect(broken).toEqual([])
  })
})

describe('the domain', () => {
  const domain = files.filter(({ folder }) => folder === 'domain')

  it('uses no package', () => {
    const broken = domain.flatMap(file =>
      file.imports.filter(name => !name.startsWith('.')).map(name => `${file.path}: ${name}`),
    )
    expect(broken).toEqual([])
  })

  it('does not wait, and has no clock and no dice of its own', () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date\(\)|Math\.random|\bprocess\./
    expect(domain.filter(({ text }) => impure.test(text)).map(({ path }) => path)).toEqual([])
  })
})

it('only config.ts and the processes read the environment', () => {
  const readers = files.filter(({ text }) => /process\.env/.test(text)).map(({ path }) => path)
  expect(readers.toSorted()).toEqual(['cli.ts', 'database/engine.ts', 'main.ts'])
})

it('no file is a place where everything goes', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\.ts|\/)/
  expect(files.filter(({ path }) => vague.test(path)).map(({ path }) => path)).toEqual([])
  const long = files.filter(({ text }) => text.split('\n').length > 250).map(({ path }) => path)
  expect(long).toEqual([])
})
