// What a host keeps: its key, and where it connects. The file is for its owner alone.

import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isHostKey } from '../domain/machines/agents.ts'

const kept = z.object({ gateway: z.url(), engine: z.string(), key: z.string().refine(isHostKey) })
export type KeptHost = z.output<typeof kept>

const fileIn = (folder: string) => join(folder, 'host.json')

export async function keepHost(folder: string, host: KeptHost): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const file = fileIn(folder)
  // The rename replaces the file at once: a crash leaves the old key or the new one.
  await writeFile(`${file}.new`, `${JSON.stringify(host)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

export async function readHost(folder: string): Promise<KeptHost> {
  const file = fileIn(folder)
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`This host has not joined: there is no ${file}. Use "host join" with a token of the operator.`, {
      cause,
    })
  })
  const { success, data } = kept.safeParse(parseJson(text))
  if (success) return data
  throw new Error(`${file} is damaged. Join again with a token of the operator.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
