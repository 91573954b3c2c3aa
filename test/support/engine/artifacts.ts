import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const toolboxSource = join(root, 'src/providers/docker/toolbox')
const imagesScript = join(import.meta.dirname, 'images.sh')

export type Artifacts = { toolbox: string; tiny: string; scratch: string; notebook: string }

/** Builds the toolbox and the images' file systems, unless the same scripts built them before. Only that needs apt. */
export async function buildArtifacts(): Promise<Artifacts> {
  const scripts = (await readdir(toolboxSource)).toSorted().map(name => join(toolboxSource, name))
  const hash = createHash('sha256')
  for (const script of [...scripts, imagesScript]) hash.update(await readFile(script))
  const cache = join(root, 'node_modules/.cache/berth/engine')
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}`
    await mkdir(part, { recursive: true })
    try {
      await run(join(toolboxSource, 'build.sh'), [join(part, 'toolbox.tar')])
      await run(imagesScript, [part])
    } catch (error) {
      await rm(part, { recursive: true })
      throw error
    }
    for (const old of await readdir(cache)) {
      if (join(cache, old) !== part) await rm(join(cache, old), { recursive: true })
    }
    await rename(part, folder)
  }
  const file = (name: string) => join(folder, `${name}.tar`)
  return { toolbox: file('toolbox'), tiny: file('tiny'), scratch: file('scratch'), notebook: file('notebook') }
}
