/** The least room for bytes that wait. */
const minBytes = 4_096

/**
 * Bytes that wait for their reader, joined. Kept as they came, a window of single bytes would take hundreds of times its
 * size: each has an object of its own, and keeps all that the network delivered with it.
 */
export function createBacklog(maxBytes: number) {
  let room = Buffer.alloc(0)
  let length = 0
  return {
    length: () => length,
    add(chunk: Buffer): void {
      const needed = length + chunk.length
      if (needed > room.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(2 * room.length, maxBytes), minBytes))
        room.copy(larger, 0, 0, length)
        room = larger
      }
      chunk.copy(room, length)
      length = needed
    },
    take(): Buffer {
      const taken = room.subarray(0, length)
      room = Buffer.alloc(0)
      length = 0
      return taken
    },
  }
}
