// What a host keeps: its key, and where it connects, also of joins without an answer. The file is for its owner alone.

import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isHostKey } from '../domain/machines/agents.ts'

const kept = z.object({ gateway: z.url(), engine: z.string(), key: z.string().refine(isHostKey) })
export type KeptHost = z.output<typeof kept>
/** `asked`: newer joins, oldest first, whose answers never came. Their keys may be good, and end this one then. */
const file = kept.extend({ asked: z.array(kept).exactOptional() })
export type HostFile = z.output<typeof file>

const fileIn = (folder: string) => join(folder, 'host.json')

export async function keepHost(folder: string, host: HostFile): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const path = fileIn(folder)
  // The rename replaces the file at once: a crash leaves the old key or the new one.
  await writeFile(`${path}.new`, `${JSON.stringify(host)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export async function forgetHost(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true })
}

export async function readHost(folder: string): Promise<HostFile> {
  const path = fileIn(folder)
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`This host has not joined: there is no ${path}. Use "host join" with a token of the operator.`, {
      cause,
    })
  })
  const { success, data } = file.safeParse(parseJson(text))
  if (success) return data
  throw new Error(`${path} is damaged. Join again with a token of the operator.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
