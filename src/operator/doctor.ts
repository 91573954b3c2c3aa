import { defineCommand, type LocalOperations, type OperatorCommand } from './command.ts'

/** Wider than every state and name of a check. */
const columns = { state: 6, name: 15 }

export const doctorCommands = {
  doctor: defineCommand(
    {
      summary:
        'Checks this installation: settings, database, secret, clock, ports, limits and disk. It says what to do.',
      options: {
        url: {
          meaning: 'where clients reach the gateways, such as https://berth.example.com: checks the proxies in front',
        },
      },
      notes: () =>
        'Run it on the computer of a gateway, with its settings and as its user. It changes nothing. The exit code is 1 if a check fails.',
      isLocal: true,
      lineOf,
    },
    ({ url }) => {
      const parsed = url === undefined ? undefined : parseOrigin(url)
      return ({ doctor }) => examine(doctor, parsed)
    },
  ),
  version: defineCommand(
    {
      summary: 'Prints which version this is: its number, the newest migration that it knows, and its Node.js.',
      options: {},
      notes: () => '"--version" does the same. Gateways name these in their log as they start, and in /metrics.',
      isLocal: true,
    },
    () =>
      ({ build }) =>
        build,
  ),
} satisfies Record<string, OperatorCommand>

function parseOrigin(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '' && url.hash === ''
  if (isOrigin && url.username === '' && url.password === '') return url
  throw new Error(
    '--url must be http:// or https:// and a host, such as https://berth.example.com, without a path or a password.',
  )
}

async function* examine(doctor: LocalOperations['doctor'], url: URL | undefined) {
  let [count, failed] = [0, 0]
  for await (const check of doctor.examine({ url })) {
    yield check
    count += 1
    if (check.state === 'fail') failed += 1
  }
  if (failed > 0) throw new Error(`${failed} of ${count} checks failed.`)
}

/** The advice is on a line of its own, below what was found. */
function lineOf({ state, name, found, advice }: Record<string, unknown>): string[] {
  const word = state === 'ok' ? 'ok' : String(state).toUpperCase()
  const margin = ' '.repeat(columns.state + columns.name)
  const line = `${word.padEnd(columns.state)}${String(name).padEnd(columns.name)}${found}`
  return typeof advice === 'string' ? [line, `${margin}-> ${advice}`] : [line]
}
