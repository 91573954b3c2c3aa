import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type EngineDetails, images } from './details.ts'
import { docker } from './docker.ts'
import { startDaemon, waitFor } from './processes.ts'

const username = 'renter'
const password = 's3cret pass word'
/** The password, as bcrypt hashes it. */
const passwordHash = '$2y$05$abcdefghijklmnopqrstuuV4xWacTfG4TqZiNNCPmrqIkYK9rId9e'

/** Starts a registry that answers only to its user. */
export async function startRegistry(folder: string): Promise<EngineDetails['registry']> {
  const host = `127.0.0.1:${await freePort()}`
  const config = {
    version: '0.1',
    log: { level: 'warn' },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    http: { addr: host },
    auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } },
  }
  await writeFile(join(folder, 'htpasswd'), `${username}:${passwordHash}\n`)
  // JSON is YAML, which the registry reads.
  await writeFile(join(folder, 'registry.yml'), JSON.stringify(config))
  startDaemon('docker-registry', ['serve', join(folder, 'registry.yml')], join(folder, 'registry.log'))
  const answers = () =>
    fetch(`http://${host}/v2/`).then(
      ({ status }) => status === 401,
      () => false,
    )
  if (!(await waitFor(answers, 10_000))) throw new Error(`The registry does not answer: see ${folder}/registry.log.`)
  return { host, username, password, image: `${host}/private/tiny:1` }
}

/** Puts the private image into the registry, and leaves neither the image nor the login in the engine. */
export async function fillRegistry(folder: string, { host, image }: EngineDetails['registry']): Promise<void> {
  await docker(folder, ['login', '--username', username, '--password-stdin', host], password)
  await docker(folder, ['tag', images.tiny, image])
  await docker(folder, ['push', image])
  await docker(folder, ['rmi', image])
  await docker(folder, ['logout', host])
}

export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer().on('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
  })
  return promise
}
