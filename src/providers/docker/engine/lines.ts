import type { Readable } from 'node:stream'
import { MachineUnreachable } from '../../provider.ts'

/** Much longer than any honest line. */
const maxLineLength = 10_000_000

/** The JSON values of a stream with one in each line. */
export async function* readJsonLines<Value>(stream: Readable): AsyncGenerator<Value> {
  let pending = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (pending + chunk).split('\n')
    pending = lines.pop() ?? ''
    if (pending.length > maxLineLength) throw new MachineUnreachable('A line of the engine is too long.')
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Value
  }
  if (pending.trim() !== '') yield JSON.parse(pending) as Value
}
