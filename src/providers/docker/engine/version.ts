// Which version of its API an engine is asked in: the newest one that both sides know.

import { MachineUnreachable } from '../../provider.ts'
import type { Address } from './address.ts'
import { EngineError } from './error.ts'
import { readJson, send } from './send.ts'

type Versions = { ApiVersion: string; MinAPIVersion?: string }

/** Minor numbers of version 1. The oldest one is Docker 20.10, the newest one is the newest that the driver was written for. */
const oldest = 41
const newest = 47

export async function negotiateVersion(address: Address, signal: AbortSignal): Promise<string> {
  const versions = await send(address, { method: 'GET', path: '/version', signal }, 'call', readJson<Versions>)
  return `1.${chooseVersion(versions)}`
}

/** Whether the engine was replaced by one that does not speak the version of the request. It has done nothing then. */
export function isOtherVersion(error: unknown): boolean {
  return (
    error instanceof EngineError && error.status === 400 && /client version \S+ is too (new|old)/.test(error.message)
  )
}

function chooseVersion({ ApiVersion, MinAPIVersion = '1.0' }: Versions): number {
  const [known, required] = [ApiVersion, MinAPIVersion].map(version => Number(/^1\.(\d+)$/.exec(version)?.[1]))
  if (known === undefined || required === undefined || !(known >= oldest && required <= newest)) {
    const message = `The engine speaks API versions ${MinAPIVersion} to ${ApiVersion}; Berth speaks 1.${oldest} to 1.${newest}.`
    throw new MachineUnreachable(message)
  }
  return Math.min(newest, known)
}
