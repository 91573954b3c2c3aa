import type { Readable } from 'node:stream'

/** The JSON values of a stream with one in each line. */
export async function* readJsonLines<Value>(stream: Readable): AsyncGenerator<Value> {
  let pending = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (pending + chunk).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Value
  }
  if (pending.trim() !== '') yield JSON.parse(pending) as Value
}
