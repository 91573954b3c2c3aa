import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { findParentFolder } from '../database/parent-folder.ts'
import { urlAs } from '../database/roles.ts'

const root = join(import.meta.dirname, '../../..')
// Tests start the program about a hundred times. The cache saves its compilation.
const NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compiled')

/** Settings of the tests, of which a program would say that it has none of that name. */
const isOfTests = /^BERTH_(TEST|MUTANT)_/

export type RunningProgram = {
  child: ChildProcess
  /** The standard output so far. */
  output: () => string
  errors: () => string
  exit: Promise<number | null>
}

export type ProgramOptions = {
  /** Lets a test signal all of its processes. */
  ownGroup?: boolean
  /** Words before its command line. */
  enter?: string[]
  /** Where the program is: by default this project. */
  folder?: string
}

/** Runs a program of the project as its npm script does. */
export function spawnProgram(
  program: string,
  args: string[],
  env: Record<string, string>,
  { ownGroup = false, enter = [], folder = root }: ProgramOptions = {},
): RunningProgram {
  const { DATABASE_URL: _, ...others } = process.env
  const inherited = Object.fromEntries(Object.entries(others).filter(([name]) => !isOfTests.test(name)))
  const { DATABASE_URL: url } = env
  const line = [...enter, process.execPath, '--require', './src/require-node-24.cjs', program, ...args]
  const child = spawn(line[0] as string, line.slice(1), {
    cwd: folder,
    // Most tests have no balancer, so draining would only wait.
    env: {
      ...inherited,
      NODE_COMPILE_CACHE,
      DRAIN_SECONDS: '0',
      ...env,
      ...(url && !env['DATABASE_OWNER_URL'] && urlsOfRoles(url)),
    },
    detached: ownGroup,
  })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text
  })
  const exit = once(child, 'close').then(([code]) => code as number | null)
  return { child, output: () => output, errors: () => errors, exit }
}

/** The settings of an operator who has a role for each task. */
function urlsOfRoles(url: string): Record<string, string> {
  return {
    DATABASE_URL: urlAs('app', url),
    DATABASE_OWNER_URL: urlAs('owner', url),
    DATABASE_METRICS_URL: urlAs('metrics', url),
  }
}

export type GatewayProcess = RunningProgram & { url: string }

/** Starts a gateway on a free port, and waits until it is ready. */
export async function startGateway(env: Record<string, string>, options?: ProgramOptions): Promise<GatewayProcess> {
  const gateway = spawnProgram('src/main.ts', [], { PORT: '0', ...env }, options)
  const ready = new Promise<string>((resolve, reject) => {
    gateway.child.stdout?.on('data', () => {
      const [, url] = /REST +(http:\S+)\/api\/v0\//.exec(gateway.output()) ?? []
      if (url && gateway.output().endsWith('\n\n')) resolve(url)
    })
    gateway.exit.then(code => reject(new Error(`The gateway ended with ${code}: ${gateway.errors()}`)))
  })
  return { ...gateway, url: await ready }
}

/** Ends a program as a supervisor does, and checks that it exits soon: requests have three seconds to finish. */
export async function stopProgram({ child, exit }: RunningProgram): Promise<number | null> {
  const start = performance.now()
  child.kill('SIGTERM')
  const code = await exit
  expect(performance.now() - start).toBeLessThan(10_000)
  return code
}

/** Runs an operator's command. Returns its JSON and its errors, without the first line, which names the database. */
export async function runBerth(env: Record<string, string>, ...args: string[]) {
  const command = spawnProgram('src/cli.ts', args, env)
  const code = await command.exit
  const errors = command.errors().replace(/^Working on .*\n/, '')
  return { code, result: command.output() && JSON.parse(command.output()), errors }
}

/** Makes a folder that the database's user can enter even when tests run as root. */
export async function makeDataDir(): Promise<{ dataDir: string; remove: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(await findParentFolder(), 'berth-e2e-'))
  await chmod(dataDir, 0o711)
  // Processes of a server that was killed may still write for a moment.
  return { dataDir, remove: () => rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) }
}
