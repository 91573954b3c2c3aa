// Pulls images. A machine keeps what it has pulled, so that the next pull is quick, but a container is made only of what
// its own renter may pull: an image that another renter pulled with a login is never taken from the machine's disk.

import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from '../../../domain/launch/registry.ts'
import type { EngineClient } from '../engine/client.ts'
import { brokenStreamError, EngineError, unlessMissing } from '../engine/error.ts'
import { readJsonLines } from '../engine/lines.ts'
import { ContainerFailed, kindOf, pullFailure } from '../failures.ts'
import { imagePath, isRegistryOf, parseImage } from './image-name.ts'

type Pull = { image: string; registry: Registry | undefined }
type LocalImage = { Id: string; RepoTags: string[] | null; RepoDigests: string[] | null; Config?: object | null }
type Progress = { status?: string; error?: string; errorDetail?: { message?: string } }

/** The registry answers at the beginning of a pull, which may wait for other pulls. */
const pullDeadlineMs = 5 * 60_000
/** A pull without any progress for this time has failed. */
const idleMs = 10 * 60_000
const retryDelaysMs = [2_000, 8_000]
/** Labels, variables and commands, as JSON. The engine repeats them in every list of containers and in every event. */
const maxConfigLength = 256 * 1_024

/** Returns the id of the image. Throws `ContainerFailed` if it cannot be pulled. */
export async function pullImage(client: EngineClient, pull: Pull, signal: AbortSignal): Promise<string> {
  for (const delayMs of [...retryDelaysMs, undefined]) {
    try {
      return await pullOnce(client, pull, signal)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      const isUnreachable = kindOf(error) === 'registryUnreachable'
      const built = isUnreachable && !loginOf(pull) && (await findBuiltImage(client, pull.image, signal))
      if (built) return built
      if (!isUnreachable || delayMs === undefined) throw pullFailure(error)
      await delay(delayMs, undefined, { signal })
    }
  }
  throw new Error('A pull ends in the loop above.')
}

async function pullOnce(client: EngineClient, pull: Pull, signal: AbortSignal): Promise<string> {
  const { name, tag } = parseImage(pull.image)
  const login = loginOf(pull)
  const idle = new AbortController()
  const signals = AbortSignal.any([signal, idle.signal])
  const timer = setTimeout(() => idle.abort(new EngineError(504, 'The pull made no progress: timeout.')), idleMs)
  let digest: string | undefined
  try {
    const stream = await client.stream('POST', '/images/create', {
      query: { fromImage: name, tag },
      headers: login ? { 'X-Registry-Auth': paddedBase64(JSON.stringify(login)) } : {},
      signal: signals,
      deadlineMs: pullDeadlineMs,
    })
    for await (const { status = '', error, errorDetail } of readJsonLines<Progress>(stream)) {
      timer.refresh()
      if (error !== undefined) throw new EngineError(200, errorDetail?.message ?? error)
      digest = /^Digest: (sha256:[0-9a-f]{64})$/.exec(status)?.[1] ?? digest
    }
  } catch (error) {
    throw brokenStreamError(error, signals)
  } finally {
    clearTimeout(timer)
  }
  // By its digest: meanwhile, another pull may have given the name to another image.
  const path = imagePath(digest === undefined ? `${name}:${tag}` : `${name}@${digest}`)
  const { Id, Config } = await client.call<LocalImage>('GET', path, { signal })
  if (JSON.stringify(Config ?? {}).length <= maxConfigLength) return Id
  const message = 'The image has too many labels and variables.'
  throw new ContainerFailed({ code: 'IMAGE_PULL_FAILED', message })
}

/**
 * An image that got its name on the machine: it was built, loaded or tagged there. One that was pulled by this name has a
 * digest of it.
 */
async function findBuiltImage(client: EngineClient, image: string, signal: AbortSignal): Promise<string | undefined> {
  const { name, tag } = parseImage(image)
  const local = await unlessMissing(client.call<LocalImage>('GET', imagePath(`${name}:${tag}`), { signal }))
  const isNamed = local?.RepoTags?.includes(`${name}:${tag}`)
  const isPulled = local?.RepoDigests?.some(digest => digest.startsWith(`${name}@`))
  return isNamed && !isPulled ? local?.Id : undefined
}

/** Only the registry that the login is for may see it. */
function loginOf({ image, registry }: Pull) {
  if (!registry || !isRegistryOf(registry.host, image)) return undefined
  const { host, username, password } = registry
  return { username, password, serveraddress: host }
}

/** For URLs, but with the padding that the engine's decoder needs. It ignores a login that it cannot decode. */
function paddedBase64(text: string): string {
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}
