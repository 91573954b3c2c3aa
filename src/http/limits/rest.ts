import type { WebSocket } from 'ws'

/** Returns a function that reads nothing from the socket for some time. The longest of several rests counts. */
export function createRest(socket: Pick<WebSocket, 'pause' | 'resume'>): (ms: number) => void {
  let untilMs = 0
  let timer: NodeJS.Timeout | undefined
  return ms => {
    const endMs = performance.now() + ms
    if (ms === 0 || endMs <= untilMs) return
    untilMs = endMs
    clearTimeout(timer)
    timer = setTimeout(() => socket.resume(), ms).unref()
    socket.pause()
  }
}
