import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The folders that the files of a folder may import from, besides their own. */
const allowedImports: Record<string, string[]> = {
  domain: [],
  database: [],
  services: ['domain', 'database'],
  http: ['domain'],
  auth: ['domain', 'services'],
  graphql: ['domain', 'services', 'auth', 'http', 'database/generated'],
  rest: ['domain', 'services', 'auth', 'http'],
  providers: ['domain'],
  reconciler: ['domain', 'services', 'providers'],
  events: ['domain', 'services'],
  operator: ['domain', 'services', 'prisma/seed.ts'],
  prisma: ['domain', 'services', 'database', 'config.ts'],
}

/** Programs that people start. Only they may read the environment and import anything. */
const entryPoints = ['cli.ts', 'main.ts', 'prisma/new-migration.ts']

const layerReasons: Record<string, string> = {
  domain: 'Rules are pure: they import no database, face or package.',
  database: 'The database layer has no rules and no use cases: move this into a service.',
  services: 'Services know no face: every face gets the same answer.',
  http: 'The HTTP layer serves both faces, and imports neither of them.',
  auth: 'Authentication turns a request into an actor, by calling a service.',
  graphql: 'A face calls services. It has no rules or queries of its own, and imports no other face.',
  providers: 'A provider gets its orders in the terms of the domain, and does not know the caller.',
  reconciler: 'The reconciler moves the observed state to the desired state, through services and a provider.',
  events: 'The feed carries events from the database to streams and webhooks, through services.',
  rest: 'A face calls services. It has no rules or queries of its own, and imports no other face.',
  operator: 'A command calls operations, as a face calls services. It has no rules or queries of its own.',
  prisma: 'The seed calls operations, as a command does, and imports no face.',
}

/** The folders of a layer. A noun has the same name in every layer, so the folders of one name hold a whole feature. */
const featureFolders = [
  ...['accounts', 'billing', 'events', 'instances', 'launch'],
  ...['machines', 'offers', 'templates', 'volumes', 'webhooks'],
]
const allowedFolders: Record<string, string[]> = {
  'src/domain': featureFolders,
  'src/services': [...featureFolders, 'reconciliation'],
  'src/graphql': [...featureFolders, 'errors', 'graphiql', 'inputs', 'nodes'],
  'src/rest': [...featureFolders, 'openapi'],
  'src/database': ['embedded', 'generated'],
  'test/unit': [...featureFolders, 'graphql', 'operator', 'process', 'rest'],
  'test/property': [...featureFolders, 'rest'],
  'test/integration': [...featureFolders, 'database', 'faces', 'graphql', 'rest'],
  'test/support': [...featureFolders, 'crashes', 'database', 'faces', 'processes', 'rest'],
}
const maxFilesPerFolder = 20

type SourceFile = {
  location: string
  path: string
  folder: string
  text: string
  imports: string[]
  /** Its imports without `import type`. */
  runs: string[]
}

const filePaths = ['src', 'prisma', 'test']
  .flatMap(base => readdirSync(join(root, base), { recursive: true, encoding: 'utf8' }).map(path => join(base, path)))
  .filter(path => path.endsWith('.ts') && !path.includes('generated'))

const files: SourceFile[] = filePaths
  .filter(location => !location.startsWith('test/'))
  .map(location => {
    const text = readFileSync(join(root, location), 'utf8')
    const path = withoutSrc(location)
    const folder = path.includes('/') ? (path.split('/')[0] as string) : ''
    const runs = importsIn(text.replaceAll(/import type [^']*'[^']+'/g, ''))
    return { location, path, folder, text, imports: importsIn(text), runs }
  })

function importsIn(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name as string)
}

function withoutSrc(location: string): string {
  return location.replace(/^src\//, '')
}

/** The target of a relative import, such as "database/client.ts". */
function importTarget(file: SourceFile, name: string): string {
  return withoutSrc(join(dirname(file.location), name))
}

describe('the layers', () => {
  it('are exactly the folders that exist', () => {
    expect(new Set(files.map(({ folder }) => folder))).toEqual(new Set(['', ...Object.keys(allowedImports)]))
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(150)
  })

  it.each(Object.keys(allowedImports))('let %s import only from the layers below it', folder => {
    const broken = files
      .filter(file => file.folder === folder)
      .flatMap(file =>
        file.imports
          .filter(name => name.startsWith('.'))
          .map(name => importTarget(file, name))
          .filter(
            target =>
              ![folder, ...(allowedImports[folder] ?? [])].some(allowed => `${target}/`.startsWith(`${allowed}/`)),
          )
          .map(target => `${file.location} imports ${target}. ${layerReasons[folder]}`),
      )
    expect(broken).toEqual([])
  })

  it('do not import app.ts, config.ts or a program', () => {
    const broken = files
      .filter(({ folder, path }) => folder !== '' && !entryPoints.includes(path))
      .flatMap(file => file.imports.map(name => ({ file, target: importTarget(file, name) })))
      .filter(({ target }) => /^(app|main|cli|config).ts$/.test(target))
      .map(({ file, target }) => `${file.location} imports ${target}. Pass it what it needs instead.`)
    expect(broken).toEqual([])
  })
})

describe('imports', () => {
  const targets = new Map(
    files.map(file => [
      file.path,
      file.imports.filter(name => name.startsWith('.')).map(name => importTarget(file, name)),
    ]),
  )

  /** The shortest import cycle through a file; undefined if there is none. */
  function cycleOf(path: string): string[] | undefined {
    const ways = [[path]]
    const seen = new Set<string>()
    for (const way of ways) {
      for (const target of targets.get(way.at(-1) ?? path) ?? []) {
        if (target === path) return [...way, path]
        if (seen.has(target)) continue
        seen.add(target)
        ways.push([...way, target])
      }
    }
    return undefined
  }

  it('have no cycles', () => {
    const cycles = new Map<string, string>()
    for (const path of targets.keys()) {
      const way = cycleOf(path)
      if (!way) continue
      const names = way.slice(0, -1).toSorted().join()
      const advice = 'Move the shared code to a third file, or to the file that owns it.'
      if (!cycles.has(names)) cycles.set(names, `${way.join(' imports ')}. ${advice}`)
    }
    expect([...cycles.values()]).toEqual([])
  })
})

/** Files that list the nouns of a layer, one per line, and the name of the file in which each noun lists its parts. */
const lists: Record<string, string> = {
  'src/services/services.ts': 'services.ts',
  'src/services/operations.ts': 'operations.ts',
  'src/graphql/schema.ts': 'schema.ts',
  'src/rest/routes.ts': 'routes.ts',
}

/** Where to list a file that no other file imports. */
const listOf: Record<string, string> = {
  services: 'the services.ts of its noun, which src/services/services.ts imports, or in src/services/background.ts',
  graphql: 'the schema.ts of its noun, which src/graphql/schema.ts imports',
  rest: 'the routes.ts of its noun, which src/rest/routes.ts imports',
  operator: 'src/operator/commands.ts',
}

/** Files that run directly: programs, and files that programs or tools load by path. */
const started = [...entryPoints, 'graphql/print-schema.ts', 'prisma/prisma.config.ts']

/** The files that these files import, directly or through others. An `import type` counts only with `types`. */
function reached(from: string[], { types }: { types: boolean }): Set<string> {
  const found = new Set<string>()
  const visit = (path: string) => {
    const file = files.find(one => one.path === path)
    if (!file || found.has(path)) return
    found.add(path)
    for (const name of types ? file.imports : file.runs) if (name.startsWith('.')) visit(importTarget(file, name))
  }
  for (const path of from) visit(path)
  return found
}

describe('the lists of nouns', () => {
  it.each(Object.entries(lists))('import one file of each noun in %s', (location, name) => {
    const imports = files.find(file => file.location === location)?.imports ?? []
    const ofNouns = imports.filter(target => /^\.\/[^/]+\//.test(target))
    expect(ofNouns).not.toEqual([])
    const crowded = [...Map.groupBy(ofNouns, target => dirname(target))].filter(([, targets]) => targets.length > 1)
    const wrong = crowded.map(([noun]) => `${location}: list the imports from ${noun} in ${noun}/${name} instead.`)
    expect(wrong).toEqual([])
  })

  it('leave no file out', () => {
    const used = reached(started, { types: true })
    const forgotten = files.filter(({ path }) => !used.has(path))
    const sentences = forgotten.map(({ location, folder }) => {
      return `${location}: no file imports it. Delete it, or list it${listOf[folder] ? ` in ${listOf[folder]}` : ''}.`
    })
    expect(sentences).toEqual([])
  })

  it('leave no type or field out of the GraphQL schema', () => {
    const used = reached(['graphql/schema.ts'], { types: false })
    const forgotten = files.filter(
      ({ path, text }) => /^\s*(?:export const \w+ = )?builder\b/m.test(text) && !used.has(path),
    )
    expect(forgotten.map(({ location }) => `${location}: list it in ${listOf['graphql']}.`)).toEqual([])
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

  it('is synchronous and deterministic: it reads no clock and no random numbers', () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date\(\)|Math\.random|\bprocess\./
    expect(domain.filter(({ text }) => impure.test(text)).map(({ path }) => path)).toEqual([])
  })
})

it('builds prefixed ids in one place', () => {
  const spelled = files.filter(({ text }) => /(?<!\w)[a-z]{3}_\$\{/.test(text))
  expect(spelled.map(({ path }) => path)).toEqual([])
})

it('reads the environment only in the programs and the embedded engine', () => {
  const readers = files.filter(({ text }) => /process\.env/.test(text)).map(({ path }) => path)
  expect(readers.toSorted()).toEqual(
    ['database/embedded/engine.ts', ...entryPoints, 'prisma/prisma.config.ts'].toSorted(),
  )
})

describe('the folders', () => {
  it.each(Object.keys(allowedFolders))('of %s are on the list of allowed folders', layer => {
    const wrong = filePaths
      .filter(location => location.startsWith(`${layer}/`))
      .map(location => ({
        location,
        room: location
          .slice(layer.length + 1)
          .split('/')
          .slice(0, -1)[0],
      }))
      .filter(({ room }) => room !== undefined && !allowedFolders[layer]?.includes(room))
      .map(
        ({ location, room }) =>
          `${location}: "${room}" is not a folder of ${layer}. Use one of ${allowedFolders[layer]?.join(', ')}.`,
      )
    expect(wrong).toEqual([])
  })

  it('have files that do not repeat the name of their folder', () => {
    const repeating = filePaths.filter(location => {
      const [file = '', folder = ''] = location.split('/').toReversed()
      return file.startsWith(`${folder}-`)
    })
    expect(repeating.map(location => `${location}: the folder's name is the first word already.`)).toEqual([])
  })

  it(`have at most ${maxFilesPerFolder} files`, () => {
    const crowded = Map.groupBy(filePaths, location => dirname(location))
    const wrong = [...crowded].filter(([, inside]) => inside.length > maxFilesPerFolder).map(([folder]) => folder)
    expect(wrong.map(folder => `${folder}: more than ${maxFilesPerFolder} files. Divide it by task.`)).toEqual([])
  })
})

it('shadows no global in src', () => {
  const shadow = /(?:const|let|function)\s+(?:\{[^}=]*\b)?(console|crypto|fetch|performance|process)\b/
  const shadowing = files.flatMap(({ location, text }) => {
    const name = shadow.exec(text)?.[1]
    return name ? [`${location}: "${name}" shadows the global. Name it more precisely, as in containerConsole.`] : []
  })
  expect(shadowing).toEqual([])
})

it('has no catch-all files and no long files', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\.ts|\/)/
  expect(files.filter(({ path }) => vague.test(path)).map(({ path }) => path)).toEqual([])
  const lengths = files.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b)
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(70)
  const long = files.filter(({ text }) => text.split('\n').length > 250).map(({ path }) => path)
  expect(long).toEqual([])
})
