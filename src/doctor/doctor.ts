// Looks at an installation as its gateways will find it, and says what to do. It changes nothing.

import { createSecrets } from '../services/secrets.ts'
import { attempt } from './attempt.ts'
import { type Check, fail } from './check.ts'
import { examineDatabase } from './database.ts'
import { createEchoToken } from './echo-token.ts'
import { gatherAddresses } from './facts/addresses.ts'
import { gatherDisk } from './facts/disk.ts'
import { type FaceLimits, gatherOpenFiles } from './facts/open-files.ts'
import { gatherPorts } from './facts/ports.ts'
import { gatherProgram } from './facts/program.ts'
import { readSecret } from './facts/secret.ts'
import { examineProxy } from './proxy.ts'
import type { DoctorSettings, Program } from './settings.ts'
import { checkDisk } from './verdicts/disk.ts'
import { checkOpenFiles } from './verdicts/open-files.ts'
import { checkAddress, checkPort } from './verdicts/ports.ts'
import { checkProgram } from './verdicts/program.ts'
import { checkSettings } from './verdicts/settings.ts'

/** `url`: where clients reach the gateways; undefined to leave out what is in front of them. */
export type Examination = { url: URL | undefined }

export async function* examine(program: Program, faces: FaceLimits, { url }: Examination): AsyncGenerator<Check> {
  const { settings, names } = program
  if ('problems' in settings) {
    // All other checks depend on the settings.
    yield* checkSettings({ ...names, ...settings })
    return
  }
  yield* checkSettings({ ...names, problems: [] })
  yield* await attempt('program', async () => checkProgram(await gatherProgram(program, settings)))
  yield* await attempt('open files', async () => [checkOpenFiles(await gatherOpenFiles(settings, faces))])
  const databaseBytes = yield* examineDatabase(settings)
  yield* await attempt('disk', async () => checkDisk(await gatherDisk(settings.dataDir, databaseBytes)))
  yield* await attempt('port', () => examinePorts(settings))
  if (url) yield* examineFront(settings, url)
}

async function examinePorts(settings: DoctorSettings): Promise<Check[]> {
  const ports = await gatherPorts(settings)
  // Where no gateway runs, nothing listens at its addresses.
  const isServed = ports.some(({ holder }) => holder.kind === 'gateway')
  const addresses = isServed ? await gatherAddresses(settings) : []
  return [...ports.map(checkPort), ...addresses.map(checkAddress)]
}

async function* examineFront(settings: DoctorSettings, url: URL): AsyncGenerator<Check> {
  const secret = await readSecret(settings).catch(() => undefined)
  if (secret) return yield* examineProxy({ url, token: createEchoToken(createSecrets(secret), new Date()) })
  yield fail(
    'proxy',
    'A gateway says how requests arrive only to somebody who has its secret, which is missing here.',
    'Run "doctor" on the computer and with the settings of a gateway.',
  )
}
