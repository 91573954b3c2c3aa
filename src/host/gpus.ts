// The GPUs of this host, as NVIDIA's own program shows them.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** In the order of their numbers. Empty without GPUs, or without the program. */
export async function readGpuUuids(program = 'nvidia-smi'): Promise<string[]> {
  const options = { timeout: 30_000, maxBuffer: 33_554_432 }
  const { stdout } = await run(program, ['-q', '-x'], options).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { stdout: '' }
    throw new Error(`${program} does not answer: ${error.message}`, { cause: error })
  })
  return parseGpuUuids(stdout)
}

export function parseGpuUuids(xml: string): string[] {
  const gpus = [...xml.matchAll(/<gpu id="[^"]*">(.*?)<\/gpu>/gs)].map(([, gpu = '']) => gpu)
  const numbered = gpus.map((gpu, index) => ({
    uuid: /<uuid>\s*(GPU-[0-9A-Za-z-]{4,76})\s*<\/uuid>/.exec(gpu)?.[1],
    // The order of the driver's minor numbers is that of nvidia-smi, unless a GPU has none.
    minor: Number(/<minor_number>\s*(\d+)\s*<\/minor_number>/.exec(gpu)?.[1] ?? index),
  }))
  return numbered.toSorted((a, b) => a.minor - b.minor).flatMap(({ uuid }) => uuid ?? [])
}
