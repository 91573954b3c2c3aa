import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

const memory = '/dev/shm'
/** The type that Linux gives a file system in memory. */
const tmpfs = 0x01021994
/** More than the databases of a run take. */
const enoughBytes = 6 * 1024 ** 3

/**
 * Where tests keep the files of their database servers: in memory if there is room. The data does not outlive the run, and
 * on a disk a new database costs several times the processor time.
 */
export async function findParentFolder(): Promise<string> {
  const free = await statfs(memory).then(
    ({ type, bavail, bsize }) => (type === tmpfs ? bavail * bsize : 0),
    () => 0,
  )
  return Math.min(free, process.availableMemory()) >= enoughBytes ? memory : tmpdir()
}
