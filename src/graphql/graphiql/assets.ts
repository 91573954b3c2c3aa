import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Asset, createAsset } from '../../http/asset.ts'
import type { Bundle } from './bundle.ts'

export type Assets = {
  /** Where the files are. The path changes with what they contain. */
  folder: string
  byPath: Map<string, Asset>
}

let loading: Promise<Assets> | undefined

/** The files that GraphiQL's page needs. They are loaded once in a process, when somebody asks first. */
export function loadAssets(): Promise<Assets> {
  loading ??= load().catch((error: unknown) => {
    // The next request tries again.
    loading = undefined
    throw error
  })
  return loading
}

async function load(): Promise<Assets> {
  const worker = new Worker(new URL('./bundle.ts', import.meta.url))
  const [{ hash, files }] = (await once(worker, 'message')) as [Bundle]
  const folder = `/graphiql/${hash}`
  const assets = Object.entries(files).map(
    ([name, { type, bytes }]) => [`${folder}/${name}`, createAsset(bytes, type)] as const,
  )
  return { folder, byPath: new Map(assets) }
}
