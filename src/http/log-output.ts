import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export type LogOutput = {
  write(line: string): void
  /** Hands all lines to the stream now. */
  flush(): void
  /** Resolves when the reader has all lines, or has read too slowly. */
  finish(): Promise<void>
}

/** A line waits this long for others. A process that is killed loses the lines that wait. */
const maxDelayMs = 20
const maxWaitingCharacters = 16_384
/** Lines are dropped while the reader is this far behind: they would fill the memory. */
const maxUnreadBytes = 4_000_000
/** How long a process that exits waits for the reader. */
const finishMs = 500

/** Writes lines to the stream, several at once: a write takes longer than all else that a line costs. */
export function createLogOutput(stream: Writable): LogOutput {
  let waiting = ''
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  // The gateway serves on when its log cannot be written: the reader has gone, or the disk is full.
  stream.on('error', () => {})

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const missing = dropped > 0 ? describeDropped(dropped) : ''
    if (waiting || missing) stream.write(waiting + missing)
    waiting = ''
    dropped = 0
  }
  return {
    write(line) {
      if (stream.writableLength + waiting.length >= maxUnreadBytes) {
        dropped += 1
        return
      }
      if (dropped > 0) flush()
      waiting += line
      if (waiting.length >= maxWaitingCharacters) flush()
      else timer ??= setTimeout(flush, maxDelayMs).unref()
    },
    flush,
    async finish() {
      flush()
      const written = new Promise<void>(resolve => stream.write('', () => resolve()))
      await Promise.race([written, sleep(finishMs)])
    },
  }
}

function describeDropped(lines: number): string {
  const msg = `${lines} lines are missing here: standard error was read too slowly.`
  return `${JSON.stringify({ level: 40, time: Date.now(), msg })}\n`
}
