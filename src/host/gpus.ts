// The GPUs of this host, as NVIDIA's own program shows them.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** `memoryMb`: in MiB; undefined if the program does not know it, as with memory that the CPU shares. */
export type Gpu = { uuid: string; memoryMb: number | undefined }

/** In the order of their numbers. Empty without GPUs, or without the program. */
export async function readGpus(program = 'nvidia-smi'): Promise<Gpu[]> {
  const options = { timeout: 30_000, maxBuffer: 33_554_432 }
  const { stdout } = await run(program, ['-q', '-x'], options).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { stdout: '' }
    throw new Error(`${program} does not answer: ${error.message}`, { cause: error })
  })
  return parseGpus(stdout)
}

export function parseGpus(xml: string): Gpu[] {
  const gpus = [...xml.matchAll(/<gpu id="[^"]*">(.*?)<\/gpu>/gs)].map(([, gpu = '']) => gpu)
  const numbered = gpus.map((gpu, index) => ({
    uuid: /<uuid>\s*(GPU-[0-9A-Za-z-]{4,76})\s*<\/uuid>/.exec(gpu)?.[1],
    memory: /<fb_memory_usage>\s*<total>\s*(\d+) MiB/.exec(gpu)?.[1],
    // The order of the driver's minor numbers is that of nvidia-smi, unless a GPU has none.
    minor: Number(/<minor_number>\s*(\d+)\s*<\/minor_number>/.exec(gpu)?.[1] ?? index),
  }))
  return numbered
    .toSorted((a, b) => a.minor - b.minor)
    .flatMap(({ uuid, memory }) =>
      uuid ? [{ uuid, memoryMb: memory === undefined ? undefined : Number(memory) }] : [],
    )
}
