// Debian's Prometheus: as it is installed, or downloaded once without being installed.

import { dirname } from 'node:path'
import { findDebianProgram } from '../processes/debian.ts'

/** The folder with prometheus and promtool; undefined, and a line in the output, if there is none. */
export async function findPrometheus(): Promise<string | undefined> {
  const program = await findDebianProgram('promtool', ['prometheus'])
  return program && dirname(program.at(-1) as string)
}
