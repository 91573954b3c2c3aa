import { join } from 'node:path'

/** What a test needs to know about the engine. Everything is below `folder`, or was built before. */
export type EngineDetails = {
  folder: string
  /** The address of the engine's API: unix:///… */
  url: string
  /** The path of the toolbox, a tar file. */
  toolbox: string
  images: typeof images
  /** A registry with one image that needs a login. The image is not in the engine. */
  registry: { host: string; username: string; password: string; image: string }
}

export const images = {
  /** Prints its arguments and runs them. Without arguments it sleeps. */
  tiny: 'berth.test/tiny:1',
  /** Has one program, no shell and no libraries. */
  scratch: 'berth.test/scratch:1',
  /** The tiny image with a `jupyter` that prints how it was started, and serves its directory. */
  notebook: 'berth.test/notebook:1',
} as const

export function socketPath(folder: string): string {
  return join(folder, 'docker.sock')
}
