import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ServerChannel } from 'ssh2'

type OutputStream = 'stdout' | 'stderr'

/**
 * The two streams of a channel to its client, until the client is `gone`. Writes wait for the client's window and
 * for its connection. They run one after another, because ssh2 repeats data if both streams wait for the window.
 */
export function createOutput(channel: ServerChannel, socket: Socket, gone: AbortSignal) {
  let last: Promise<void> = Promise.resolve()
  /** Ends the wait of the write that runs: ssh2 never calls back if the channel closes meanwhile. */
  let release = () => {}
  gone.addEventListener('abort', () => release(), { once: true })

  function wait(begin: (done: () => void) => void): Promise<void> {
    return new Promise(resolve => {
      release = resolve
      begin(resolve)
    })
  }

  async function write(chunk: Buffer | string, stream: OutputStream): Promise<void> {
    if (gone.aborted) return
    await wait(done => (stream === 'stdout' ? channel : channel.stderr).write(chunk, () => done()))
    forgetWaiting(channel)
    if (socket.writableNeedDrain && !gone.aborted) await wait(done => socket.once('drain', done))
  }

  function writeInTurn(chunk: Buffer | string, stream: OutputStream): Promise<void> {
    last = last.then(() => write(chunk, stream))
    return last
  }

  return {
    write: writeInTurn,
    /** Writes all of a stream. Ends early when the client is gone. */
    async writeAll(source: Readable, stream: OutputStream): Promise<void> {
      for await (const chunk of source) {
        if (gone.aborted) return
        await writeInTurn(chunk, stream)
      }
    },
  }
}

/** ssh2 keeps a chunk that had to wait, and would send it again when the other stream waits. */
function forgetWaiting(channel: ServerChannel): void {
  const nothing = { _chunk: undefined, _chunkcb: undefined, _chunkErr: undefined, _chunkcbErr: undefined }
  Object.assign(channel, nothing)
}
