import type { WebSocket } from 'ws'

/** Cuts off a socket on which a ping stays unanswered until the next one. */
export function startHeartbeat(socket: WebSocket, everyMs: number): void {
  let isAwaited = false
  socket.on('pong', () => {
    isAwaited = false
  })
  const timer = setInterval(() => {
    if (isAwaited) return socket.terminate()
    isAwaited = true
    socket.ping()
  }, everyMs)
  timer.unref()
  socket.on('close', () => clearInterval(timer))
}
