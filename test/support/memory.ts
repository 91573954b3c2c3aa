import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The memory that this process uses after a garbage collection, in bytes. */
export function measureMemory(): number {
  collectGarbage()
  // Buffers are given back in the background. A second collection waits for the end of the first.
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
