import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('toolbox/build.sh', import.meta.url))

/** The toolbox: a tar of what a real machine adds to a container, such as its SSH server. */
export async function readToolbox(file: string): Promise<Buffer> {
  return await readFile(file).catch((cause: unknown) => {
    throw new Error(`The toolbox ${file} is missing. "npm run berth -- toolbox build" makes it.`, { cause })
  })
}

/** Builds the toolbox from Debian packages. Throws with what the script says if it fails. */
export async function buildToolbox(file: string): Promise<void> {
  const child = spawn('bash', [script, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(errors.trim() || `The toolbox was not built: exit code ${code}.`)
}
