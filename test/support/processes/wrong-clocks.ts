// Wrong and jumping wall clocks for gateway processes. Needs libfaketime. Monotonic clocks stay right.

import { globSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SeededRandom } from '../seeded-random.ts'

/** How far the clock of each gateway is ahead at first, in seconds. */
const initialOffsetsSeconds = [300, -300]

export type WrongClocks = {
  /** The environment of a gateway's process. */
  envOf(gateway: number): Record<string, string>
  /** Sets the clock of one gateway up to 5 minutes ahead or back, while its process runs. */
  jump(random: SeededRandom): Promise<void>
  remove(): Promise<void>
}

/** Undefined if libfaketime is not installed. */
export async function createWrongClocks(): Promise<WrongClocks | undefined> {
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
  if (library === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'berth-clocks-'))
  // A gateway that root starts works as another user.
  await chmod(folder, 0o711)
  const files = initialOffsetsSeconds.map((_, gateway) => join(folder, String(gateway)))
  const setOffset = (gateway: number, seconds: number) =>
    writeFile(files[gateway] as string, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  for (const [gateway, seconds] of initialOffsetsSeconds.entries()) await setOffset(gateway, seconds)
  return {
    envOf: gateway => ({
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: files[gateway % files.length] as string,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }),
    jump: random => setOffset(random.between(0, initialOffsetsSeconds.length - 1), random.between(-300, 300)),
    remove: () => rm(folder, { recursive: true }),
  }
}
