import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The nouns of the business. A folder of that name has the same noun in every layer and at every level of tests. */
const nouns = [
  ...['accounts', 'billing', 'events', 'instances', 'launch'],
  ...['machines', 'offers', 'templates', 'volumes', 'webhooks'],
]

type Layer = {
  /** What its files may import of the project, besides their own layer. */
  imports: string[]
  /** The npm packages that its files may import. */
  packages: string[]
  /** The folders inside it, at any depth. */
  folders: string[]
  /** Why its files import nothing else. */
  reason: string
}

const layers: Record<string, Layer> = {
  domain: {
    imports: [],
    packages: [],
    folders: [...nouns, 'accounts/permissions', 'instances/policy', 'instances/rent', 'instances/search'],
    reason: 'Rules are pure: move what needs a database, a face, a package or a module of Node into a service.',
  },
  turns: {
    imports: [],
    packages: [],
    folders: [],
    reason: 'What gives turns does not know what they are for.',
  },
  traces: {
    imports: [],
    packages: ['@opentelemetry/api'],
    folders: [],
    reason: 'What makes spans does not know what they are of.',
  },
  database: {
    imports: ['turns', 'traces'],
    packages: ['@prisma/adapter-pg', 'pg', 'pg-copy-streams', 'pino'],
    folders: ['backup', 'embedded', 'history', 'pooler', 'replica', 'roles', 'sealing', 'selection'],
    reason: 'The database layer has no rules and no use cases: move this into a service.',
  },
  services: {
    imports: ['domain', 'database', 'turns', 'traces'],
    packages: ['pino'],
    folders: [
      ...[...nouns, 'reconciliation', 'accounts/api-keys', 'accounts/ssh-keys', 'billing/due', 'billing/limits'],
      ...['instances/bulk', 'instances/metrics', 'instances/policy', 'instances/rent', 'instances/search'],
      ...[
        'instances/notebooks',
        'instances/operator',
        'instances/ssh',
        'machines/agents',
        'machines/engines',
        'offers/sql',
        'reads',
        'sealing',
      ],
    ],
    reason: 'Services know no face and run their statements through the database layer.',
  },
  http: {
    imports: ['domain', 'turns', 'traces'],
    packages: ['@whatwg-node/server', 'pino', 'ws'],
    folders: ['admission', 'agents', 'errors', 'limits', 'metrics'],
    reason: 'The HTTP layer serves both faces and imports neither: pass it what it needs.',
  },
  auth: {
    imports: ['domain', 'services', 'http'],
    packages: [],
    folders: [],
    reason: 'Authentication turns a request into an actor by calling a service.',
  },
  graphql: {
    imports: ['domain', 'services', 'auth', 'http', 'database/generated', 'turns', 'traces'],
    packages: [
      ...['@pothos/core', '@pothos/plugin-prisma', '@pothos/plugin-relay', 'dataloader'],
      ...['graphql', 'graphql-scalars', 'graphql-ws', 'graphql-yoga'],
    ],
    folders: [
      ...[...nouns, 'errors', 'execution', 'graphiql', 'instances/bulk', 'instances/metrics', 'limits', 'nodes'],
      ...['pothos', 'transport'],
    ],
    reason: 'A face calls services: move rules and queries there. It does not know the other face.',
  },
  rest: {
    imports: ['domain', 'services', 'auth', 'http', 'turns', 'traces'],
    packages: ['zod'],
    folders: [...nouns, 'openapi', 'page'],
    reason: 'A face calls services: move rules and queries there. It does not know the other face.',
  },
  ssh: {
    imports: ['domain', 'services', 'http', 'providers'],
    packages: ['pino', 'ssh2'],
    folders: [],
    reason: 'The SSH face connects clients with containers: a service decides who may log in. It knows no other face.',
  },
  notebooks: {
    imports: ['domain', 'services', 'http', 'providers'],
    packages: ['pino'],
    folders: [],
    reason: 'The notebook face connects browsers with containers: a service decides who may. It knows no other face.',
  },
  providers: {
    imports: ['domain', 'traces'],
    packages: ['dataloader', 'pino', 'zod'],
    folders: [
      ...['agent', 'agent/protocol', 'agent/streams'],
      ...[
        'docker',
        'docker/engine',
        'docker/inspection',
        'docker/log',
        'docker/making',
        'docker/processes',
        'docker/stats',
      ],
      ...['docker/toolbox', 'simulated'],
    ],
    reason: 'A provider gets its orders in the terms of the domain and does not know the caller.',
  },
  agents: {
    imports: ['domain', 'services', 'providers', 'http', 'traces'],
    packages: ['pino', 'zod'],
    folders: [],
    reason: 'A gateway keeps the connections of hosts here: move statements into services/machines/agents.',
  },
  host: {
    imports: ['domain', 'providers', 'http'],
    packages: ['pino', 'ws', 'zod'],
    folders: [],
    reason: 'A host has no database: it learns from a gateway what it needs.',
  },
  reconciler: {
    imports: ['domain', 'services', 'providers', 'traces'],
    packages: ['pino'],
    folders: [],
    reason: 'The reconciler works through services and a provider: move statements into services/reconciliation.',
  },
  events: {
    imports: ['domain', 'services', 'turns', 'traces'],
    packages: ['pino'],
    folders: [],
    reason: 'The feed reads events through services and does not know who listens.',
  },
  doctor: {
    imports: ['domain', 'database', 'services', 'http'],
    packages: ['pg', 'ws'],
    folders: ['facts', 'verdicts'],
    reason: 'The doctor reads what others have made, and changes nothing: pass it what the faces know.',
  },
  operator: {
    imports: ['domain', 'services', 'prisma/seed.ts'],
    packages: ['csv-parse'],
    folders: ['accounts', 'events', 'instances', 'webhooks'],
    reason: 'A command calls operations, as a face calls services: move rules and queries there.',
  },
  prisma: {
    imports: ['domain', 'services', 'database', 'config.ts'],
    packages: [
      ...['@prisma/adapter-pg', '@prisma/client', '@prisma/driver-adapter-utils', '@prisma/schema-engine-wasm'],
      ...['pg', 'prisma'],
    ],
    folders: ['migrations'],
    reason: 'The seed calls operations, as a command does.',
  },
}

/** The folders inside each level of tests. The nouns are the same as in the layers. */
const testFolders: Record<string, string[]> = {
  bench: ['measure', 'peers', 'peers/floor', 'report', 'setup', 'workloads'],
  unit: [
    ...nouns,
    'database',
    'docker',
    'doctor',
    'graphql',
    'http',
    'notebooks',
    'operator',
    'process',
    'reconciler',
    'rest',
    'ssh',
  ],
  property: [...nouns, 'graphql', 'http', 'rest'],
  integration: [
    ...nouns,
    'database',
    'database/backup',
    'database/history',
    'database/pooler',
    'database/replica',
    'database/roles',
    'database/sealing',
    'database/statements',
    'faces',
    'graphql',
    'instances/metrics',
    'instances/operator',
    'instances/rent',
    'machines/agents',
    'notebooks',
    'reconciler',
    'rest',
    'ssh',
  ],
  support: [
    ...nouns,
    'backup',
    'billing/one-dollar',
    'crashes',
    'database',
    'deploy',
    'engine',
    'faces',
    'failover',
    'faults',
    'load',
    'monitoring',
    'notebooks',
    'processes',
    'proxies',
    'rest',
    'ssh',
  ],
  client: [],
  contract: [],
  e2e: [],
  engine: [],
  long: ['backup', 'deploy', 'failover', 'faults', 'hosts', 'install', 'load', 'proxies', 'webhooks'],
  mutation: [],
  wire: [],
}

const maxFilesPerFolder = 20
const maxLines = 250
const maxMedianLines = 70

/** Programs that people start. Only they may read the environment and import anything. */
const entryPoints = ['cli.ts', 'main.ts', 'prisma/new-migration.ts']

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
  .filter(path => path.endsWith('.ts') && !/generated|node_modules/.test(path))

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
  const imports = /\bfrom '([^'\n]+)'$|^import '([^'\n]+)'$|\bimport\(\s*'([^'\n]+)'/gm
  return [...text.matchAll(imports)].map(groups => groups.slice(1).find(Boolean) as string)
}

function withoutSrc(location: string): string {
  return location.replace(/^src\//, '')
}

/** The target of a relative import, such as "database/client.ts". */
function importTarget(file: SourceFile, name: string): string {
  return withoutSrc(join(dirname(file.location), name))
}

/** The npm name of the package in an import such as "csv-parse/sync" or "@pothos/core". */
function packageOf(name: string): string {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/')
}

describe('the layers', () => {
  it('are the folders that exist', () => {
    const existing = new Set(files.map(({ folder }) => folder).filter(folder => folder !== ''))
    const problems = [
      ...[...existing]
        .filter(folder => !layers[folder])
        .map(folder => `src/${folder} is no layer. Put its files into a layer, or describe the new one in \`layers\`.`),
      ...Object.keys(layers)
        .filter(name => !existing.has(name))
        .map(name => `The layer ${name} has no files. Remove it from \`layers\`.`),
    ]
    expect(problems).toEqual([])
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(150)
  })

  it.each(Object.entries(layers))('let %s import only what it may know', (name, { imports, packages, reason }) => {
    const isAllowed = (target: string) => [name, ...imports].some(allowed => `${target}/`.startsWith(`${allowed}/`))
    const problems = files
      .filter(file => file.folder === name && !entryPoints.includes(file.path))
      .flatMap(file =>
        file.imports
          .filter(target =>
            target.startsWith('.')
              ? !isAllowed(importTarget(file, target))
              : target.startsWith('node:')
                ? name === 'domain'
                : !packages.includes(packageOf(target)),
          )
          .map(target => `${file.location} imports ${target}. ${reason}`),
      )
    expect(problems).toEqual([])
  })

  it('do not import app.ts, config.ts or a program', () => {
    const problems = files
      .filter(({ folder, path }) => folder !== '' && !entryPoints.includes(path))
      .flatMap(file => file.imports.map(name => ({ file, target: importTarget(file, name) })))
      .filter(({ target }) => /^(app|main|cli|config).ts$/.test(target))
      .filter(({ file, target }) => !(file.folder === 'prisma' && target === 'config.ts'))
      .map(({ file, target }) => `${file.location} imports ${target}. Pass it what it needs instead.`)
    expect(problems).toEqual([])
  })

  it('are described in docs/contributing.md as they are here', () => {
    const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8')
    const problems = Object.entries(layers).flatMap(([name, { imports }]) => {
      const location = name === 'prisma' ? 'prisma' : `src/${name}`
      const row = page.split('\n').find(line => line.startsWith(`| \`${location}\` |`))
      const shown = [...(row?.split('|')[3] ?? '').matchAll(/`([^`]+)`/g)].map(([, target]) => target)
      return row && shown.join() === imports.join()
        ? []
        : [
            `docs/contributing.md: the row of \`${location}\` must name what it imports: ${imports.join(', ') || 'nothing'}.`,
          ]
    })
    expect(problems).toEqual([])
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
  services: 'the file of its noun that src/services/services.ts imports, or in src/services/background.ts',
  graphql: 'the file of its noun that src/graphql/schema.ts imports',
  rest: 'the file of its noun that src/rest/routes.ts imports',
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

describe('the code', () => {
  /** A sentence for each file whose text matches. */
  const findText = (pattern: RegExp, inside: (file: SourceFile) => boolean, advice: string) =>
    files.filter(file => inside(file) && pattern.test(file.text)).map(({ location }) => `${location}: ${advice}`)

  it("of the domain and of the doctor's verdicts is synchronous and deterministic", () => {
    const impure = /\basync\b|\bawait\b|Date\.now|new Date\(\)|Math\.random|\bprocess\./
    const advice = 'a rule does not wait and reads no clock and no random numbers. Pass the instant or the number in.'
    const isPure = ({ path }: SourceFile) => /^(domain|doctor\/verdicts)\//.test(path)
    expect(findText(impure, isPure, advice)).toEqual([])
  })

  it('builds prefixed ids in one place', () => {
    const advice = 'print ids with printId of domain/ids.ts.'
    expect(findText(/(?<!\w)[a-z]{3}_\$\{/, () => true, advice)).toEqual([])
  })

  it('reads the environment only where programs start', () => {
    const readers = [...entryPoints, 'give-up-root.ts', 'database/embedded/engine.ts', 'prisma/prisma.config.ts']
    const advice = 'do not read process.env here. Add a setting to src/config.ts and pass its value in.'
    expect(findText(/process\.env/, ({ path }) => !readers.includes(path), advice)).toEqual([])
  })

  it('shadows no global', () => {
    const globals = 'console|crypto|fetch|performance|process'
    const shadow = new RegExp(
      `(?:const|let|function)\\s+(?:\\{[^}=]*\\b)?(${globals})\\b|\\(\\{[^}]*\\b(${globals})\\b[^}]*\\}[^)]*\\)\\s*(?:=>|\\{)`,
    )
    const advice = 'a name hides a global of Node. Name it more precisely, as in containerConsole.'
    expect(findText(shadow, ({ location }) => location.startsWith('src/'), advice)).toEqual([])
  })
})

describe('the folders', () => {
  const places = [
    ...Object.entries(layers).map(
      ([name, { folders }]) => [name === 'prisma' ? name : `src/${name}`, folders] as const,
    ),
    ...Object.entries(testFolders).map(([name, folders]) => [`test/${name}`, folders] as const),
  ]

  it.each(places)('of %s are all allowed', (place, folders) => {
    const inside = filePaths
      .filter(location => location.startsWith(`${place}/`))
      .map(location => ({ location, folder: dirname(location).slice(place.length + 1) }))
    const problems = inside
      .filter(({ folder }) => folder !== '' && !folders.includes(folder))
      .map(({ location, folder }) => {
        const known = folders.length > 0 ? `Use one of ${folders.join(', ')}` : 'Put it directly into the folder'
        return `${location}: ${place} has no folder "${folder}". ${known}, or add the folder to this test.`
      })
    expect(problems).toEqual([])
  })

  it('of tests are levels', () => {
    const levels = new Set(filePaths.flatMap(location => /^test\/([^/]+)\//.exec(location)?.[1] ?? []))
    const problems = [...levels]
      .filter(level => !testFolders[level])
      .map(level => `test/${level} is no level of tests. Use one of ${Object.keys(testFolders).join(', ')}.`)
    expect(problems).toEqual([])
  })

  it('have files that do not repeat the name of their folder', () => {
    const problems = filePaths
      .filter(location => {
        const [file = '', folder = ''] = location.split('/').toReversed()
        return file.startsWith(`${folder}-`)
      })
      .map(location => `${location}: the folder's name is the first word already. Leave it out of the file's name.`)
    expect(problems).toEqual([])
  })

  it(`have at most ${maxFilesPerFolder} files each`, () => {
    const problems = [...Map.groupBy(filePaths, location => dirname(location))]
      .filter(([, inside]) => inside.length > maxFilesPerFolder)
      .map(
        ([folder, inside]) =>
          `${folder} has ${inside.length} files, more than ${maxFilesPerFolder}. Divide it by task.`,
      )
    expect(problems).toEqual([])
  })
})

// Tests may be longer: one file tells all about one thing.
describe('the files of src and prisma', () => {
  const lengths = files.map(({ location, text }) => ({ location, lines: text.split('\n').length - 1 }))

  it('have names that say what they contain', () => {
    const vague = /(^|\/)(utils?|helpers?|common|shared|misc|index)(\.ts|\/)/
    const problems = files
      .filter(({ path }) => vague.test(path))
      .map(({ location }) => `${location}: the name says nothing. Name it after its main export.`)
    expect(problems).toEqual([])
  })

  it(`have at most ${maxLines} lines, and a median of at most ${maxMedianLines}`, () => {
    const problems = lengths
      .filter(({ lines }) => lines > maxLines)
      .map(({ location, lines }) => `${location} has ${lines} lines, more than ${maxLines}. Divide it by task.`)
    expect(problems).toEqual([])
    const sorted = lengths.map(({ lines }) => lines).toSorted((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(maxMedianLines)
  })
})
