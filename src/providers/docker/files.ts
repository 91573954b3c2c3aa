// Files inside containers. Archives go through the engine, so that machines need no other access.

import type { ContainerSpec } from '../../domain/instances/containers.ts'
import { EngineError } from './engine/error.ts'
import { readTarFile, writeTar } from './engine/tar.ts'
import type { Machine } from './machine.ts'
import { runInContainer } from './processes/process.ts'

const keysPath = '.berth/instance/authorized_keys'
/** Time for the program that lets the keys log in. A renter who has changed it can make it last for ever. */
const applyMs = 5_000
/** The renter can make the file as large as he likes. More than this is not read of it. */
const maxKeyBytes = 256 * 1_024

export async function uploadTar(
  { client }: Machine,
  containerId: string,
  tar: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const path = `/containers/${containerId}/archive`
  await client.call('PUT', path, { query: { path: '/' }, tar, signal, deadlineMs: 60_000 })
}

/** What the container's entrypoint reads. */
export function instanceFiles({ sshKeys, launch: { onStart } }: ContainerSpec): Buffer {
  const script = { path: '.berth/instance/onstart.sh', mode: 0o700, content: onStart ?? '' }
  return writeTar([keysFile(sshKeys), script])
}

export function keysTar(sshKeys: readonly string[]): Buffer {
  return writeTar([keysFile(sshKeys)])
}

function keysFile(sshKeys: readonly string[]) {
  return { path: keysPath, mode: 0o600, content: sshKeys.map(key => `${key}\n`).join('') }
}

/** The keys that were last set. None if the renter has broken the file. */
export async function readSshKeys({ client }: Machine, containerId: string, signal: AbortSignal): Promise<string[]> {
  try {
    const options = { query: { path: `/${keysPath}` }, signal, maxBytes: maxKeyBytes }
    const file = readTarFile(await client.readStart(`/containers/${containerId}/archive`, options))
    return file?.toString().split('\n').filter(Boolean) ?? []
  } catch (error) {
    if (error instanceof EngineError) return []
    throw error
  }
}

/** Lets the keys of the file log in. If the renter's changes keep that from ending, it is his loss alone. */
export async function applyKeys(machine: Machine, containerId: string, signal: AbortSignal): Promise<void> {
  const own = AbortSignal.timeout(applyMs)
  const words = ['/.berth/bin/busybox', 'sh', '/.berth/bin/apply-keys']
  await runInContainer(machine, containerId, words, AbortSignal.any([signal, own])).catch((error: unknown) => {
    if (signal.aborted || error !== own.reason) throw error
  })
}
