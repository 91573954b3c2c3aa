import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { blocksOf, readPage } from '../docs.ts'

// Below the packages of the project, which the program finds from there.
const folder = join(import.meta.dirname, '../../../node_modules/.cache/berth')

/** Writes the program that docs/traces.md shows, with which a gateway sends its spans to a collector. */
export async function writeTraceSetup(collectorUrl: string) {
  const page = readPage('docs/traces.md')
  const [program = ''] = blocksOf(page, 'js traces')
  const [commands = ''] = blocksOf(page, 'sh traces')
  const [, option, path = ''] = /npm start --node-options='(--import=(\S+))'/.exec(commands) ?? []
  if (option === undefined) throw new Error('docs/traces.md does not say how to load the SDK.')
  const file = join(folder, `traces-${process.pid}.mjs`)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, program)
  const env = { NODE_OPTIONS: option.replace(path, file), OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl }
  return { env, remove: () => rm(file) }
}
