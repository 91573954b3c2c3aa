// How much of its time a gateway reads what one host sends.

import type { WebSocket } from 'ws'
import { createRest } from '../limits/rest.ts'
import { createTimeShare } from '../limits/time-share.ts'

/** How fast texts are received, about, before their work begins. */
const bytesPerMs = 100_000
/** What any frame costs, about, however short it is. */
const frameMs = 0.002
/** Frames come thousands at a time, and nothing else is done meanwhile. */
const framesBurstMs = 25

export function createReading(socket: Pick<WebSocket, 'pause' | 'resume'>) {
  const readInShare = createTimeShare()
  const countInShare = createTimeShare(undefined, framesBurstMs)
  const restFor = createRest(socket)
  return {
    text: (bytes: number, read: () => void): void => restFor(readInShare(bytes / bytesPerMs, read)),
    /** Its work is not counted. The bytes of streams wait for their readers, and readers may want many. */
    frame: (): void => restFor(countInShare(frameMs, () => {})),
  }
}
