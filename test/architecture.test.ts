import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Which folders the files of a folder may import from, beside their own. */
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

/** What is started by somebody, beside what builds it: these read the environment and know everything. */
const entryPoints = ['cli.ts', 'main.ts', 'prisma/new-migration.ts']

const layerReasons: Record<string, string> = {
  domain: 'Rules are pure: they know nothing of databases, faces or packages.',
  database: 'The database knows no rule and no use case: move this into a service.',
  services: 'Services know no face: whoever asks gets the same answer.',
  http: 'What surrounds both faces knows neither of them.',
  auth: 'Authentication turns a request into an actor, by asking a service.',
  graphql: 'A face asks services. It has no rule and no query of its own, and knows no other face.',
  providers: 'A driver is told what to run in the words of the domain, and knows nothing of who wants it.',
  reconciler: 'It moves what is towards what is wished: through services on one side and a driver on the other.',
  events: 'It carries events from the database to whoever follows them, and asks services for both.',
  rest: 'A face asks services. It has no rule and no query of its own, and knows no other face.',
  operator: 'A command asks operations, as a face asks services. It has no rule and no query of its own.',
  prisma: 'What fills a database asks operations, as an operator does, and knows no face.',
}

/** What a layer is divided into. A noun is named alike in every layer, so a feature is found whole in folders of one name. */
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
  /** Its imports without those of types alone. */
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

/** Where a relative import leads: "database/client.ts". */
function importTarget(file: SourceFile, name: string): string {
  return withoutSrc(join(dirname(file.location), name))
}

describe('the arrows', () => {
  it('is read from the files that there are', () => {
    expect(new Set(files.map(({ folder }) => folder))).toEqual(new Set(['', ...Object.keys(allowedImports)]))
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(150)
  })

  it.each(Object.keys(allowedImports))('of %s point towards the domain', folder => {
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

  it('only app.ts and the processes know everything', () => {
    const broken = files
      .filter(({ folder, path }) => folder !== '' && !entryPoints.includes(path))
      .flatMap(file => file.imports.map(name => ({ file, target: importTarget(file, name) })))
      .filter(({ target }) => /^(app|main|cli|config).ts$/.test(target))
      .map(({ file, target }) => `${file.location} imports ${target}: what it needs is passed to it.`)
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

  /** The shortest way from a file through others back to itself; undefined when there is none. */
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

  it('lead from no file through others back to itself', () => {
    const cycles = new Map<string, string>()
    for (const path of targets.keys()) {
      const way = cycleOf(path)
      if (!way) continue
      const names = way.slice(0, -1).toSorted().join()
      const advice = 'Move what both need to a third file, or to the file that owns it.'
      if (!cycles.has(names)) cycles.set(names, `${way.join(' imports ')}. ${advice}`)
    }
    expect([...cycles.values()]).toEqual([])
  })
})

/** Files that name the nouns of a layer, a line each, and the file in which a noun lists what it has there. */
const lists: Record<string, string> = {
  'src/services/services.ts': 'services.ts',
  'src/services/operations.ts': 'operations.ts',
  'src/graphql/schema.ts': 'schema.ts',
  'src/rest/routes.ts': 'routes.ts',
}

/** Where a file that nothing imports is to be listed. */
const listOf: Record<string, string> = {
  services: 'the services.ts of its noun, which src/services/services.ts imports, or in src/services/background.ts',
  graphql: 'the schema.ts of its noun, which src/graphql/schema.ts imports',
  rest: 'the routes.ts of its noun, which src/rest/routes.ts imports',
  operator: 'src/operator/commands.ts',
}

/** What is run as it is: processes, what they start by path, and what tools read. */
const started = [...entryPoints, 'graphql/print-schema.ts', 'prisma/prisma.config.ts']

/** The files that run when these do. An `import type` runs nothing. */
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
  it.each(Object.entries(lists))('%s takes one file of each noun', (location, name) => {
    const imports = files.find(file => file.location === location)?.imports ?? []
    const ofNouns = imports.filter(target => /^\.\/[^/]+\//.test(target))
    expect(ofNouns).not.toEqual([])
    const crowded = [...Map.groupBy(ofNouns, target => dirname(target))].filter(([, targets]) => targets.length > 1)
    const wrong = crowded.map(([noun]) => `${location}: list what it imports of ${noun} in ${noun}/${name} instead.`)
    expect(wrong).toEqual([])
  })

  it('leave no file out', () => {
    const used = reached(started, { types: true })
    const forgotten = files.filter(({ path }) => !used.has(path))
    const sentences = forgotten.map(({ location, folder }) => {
      return `${location}: nothing imports it. Delete it, or list it${listOf[folder] ? ` in ${listOf[folder]}` : ''}.`
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

  it('does not wait, and has no clock and no dice of its own', () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date\(\)|Math\.random|\bprocess\./
    expect(domain.filter(({ text }) => impure.test(text)).map(({ path }) => path)).toEqual([])
  })
})

it('ids are spelt with what they are of in one place', () => {
  const spelt = files.filter(({ text }) => /(?<!\w)[a-z]{3}_\$\{/.test(text))
  expect(spelt.map(({ path }) => path)).toEqual([])
})

it('only config.ts and the processes read the environment', () => {
  const readers = files.filter(({ text }) => /process\.env/.test(text)).map(({ path }) => path)
  expect(readers.toSorted()).toEqual(
    ['database/embedded/engine.ts', ...entryPoints, 'prisma/prisma.config.ts'].toSorted(),
  )
})

describe('the rooms', () => {
  it.each(Object.keys(allowedFolders))('of %s are the ones that it is divided into', layer => {
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
          `${location}: ${layer} has no room "${room}". Use one of ${allowedFolders[layer]?.join(', ')}.`,
      )
    expect(wrong).toEqual([])
  })

  it('have files that do not repeat the name of their room', () => {
    const repeating = filePaths.filter(location => {
      const [file = '', folder = ''] = location.split('/').toReversed()
      return file.startsWith(`${folder}-`)
    })
    expect(repeating.map(location => `${location}: its folder says the first word already.`)).toEqual([])
  })

  it(`have at most ${maxFilesPerFolder} files`, () => {
    const crowded = Map.groupBy(filePaths, location => dirname(location))
    const wrong = [...crowded].filter(([, inside]) => inside.length > maxFilesPerFolder).map(([folder]) => folder)
    expect(
      wrong.map(folder => `${folder}: more than ${maxFilesPerFolder} files. Divide it by what is done there.`),
    ).toEqual([])
  })
})

it('no value in src is named like a global that other code uses', () => {
  const shadow = /(?:const|let|function)\s+(?:\{[^}=]*\b)?(console|crypto|fetch|performance|process)\b/
  const shadowing = files.flatMap(({ location, text }) => {
    const name = shadow.exec(text)?.[1]
    return name ? [`${location}: "${name}" hides the global. Say which one it is, as in containerConsole.`] : []
  })
  expect(shadowing).toEqual([])
})

it('no file is a place where everything goes', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\.ts|\/)/
  expect(files.filter(({ path }) => vague.test(path)).map(({ path }) => path)).toEqual([])
  const lengths = files.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b)
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(70)
  const long = files.filter(({ text }) => text.split('\n').length > 250).map(({ path }) => path)
  expect(long).toEqual([])
})
