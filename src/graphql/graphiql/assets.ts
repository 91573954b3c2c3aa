import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Asset, createAsset } from '../../http/asset.ts'
import type { Bundle } from './bundle.ts'

type Assets = {
  /** Path of the folder with the files. It contains a hash of their content. */
  folder: string
  byPath: Map<string, Asset>
}

let loading: Promise<Assets> | undefined

/** The files of GraphiQL's page, loaded once per process at the first request. */
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
