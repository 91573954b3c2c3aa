import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = join(import.meta.dirname, '..')

/** Installs the packages of the peers next to the bench, unless the same lock file is installed already. */
export async function installPackages(): Promise<void> {
  if (await isInstalled()) return
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder })
}

/** npm writes what it installed into a lock file of the same form, without the package of the folder itself. */
async function isInstalled(): Promise<boolean> {
  const [wanted, installed] = await Promise.all(
    ['package-lock.json', 'node_modules/.package-lock.json'].map(file => readPackages(join(folder, file))),
  )
  return wanted === installed
}

async function readPackages(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '{}')
  const { '': _, ...packages } = (JSON.parse(text) as { packages?: Record<string, unknown> }).packages ?? {}
  return JSON.stringify(packages)
}
