import { expect, it, vi } from 'vitest'
import { printMessage } from '../../../src/providers/agent/protocol/messages.ts'
import { createMultiplexer, windowBytes } from '../../../src/providers/agent/streams/multiplexer.ts'
import { channels, readableOf } from '../../../src/providers/agent/streams/streams.ts'

function openStream() {
  const sent: string[] = []
  const multiplexer = createMultiplexer({ send: data => void sent.push(String(data)), close() {} }, printMessage)
  const readable = readableOf(multiplexer, 1, channels.output)
  const receive = (bytes: Buffer) => multiplexer.receive(Buffer.concat([Buffer.from([0, 0, 0, 1, 1]), bytes]))
  const grants = () => sent.filter(text => text.includes('grant')).map(text => JSON.parse(text).bytes as number)
  return { multiplexer, readable, receive, grants }
}

it('joins what nobody reads, however small the pieces are', async () => {
  const { multiplexer, readable, receive } = openStream()
  const push = vi.spyOn(readable, 'push')
  const expected = Buffer.from(Array.from({ length: windowBytes }, (_, index) => index % 251))
  for (let index = 0; index < windowBytes; index += 1) receive(expected.subarray(index, index + 1))
  multiplexer.receiveEnd({ id: 1, channel: channels.output })
  expect(Buffer.concat(await readable.toArray()).equals(expected)).toBe(true)
  // One of them is the end.
  expect(push.mock.calls.length).toBeLessThanOrEqual(3)
})

it('lets the other side send again only what has been read', async () => {
  const { readable, receive, grants } = openStream()
  for (let count = 0; count < 4; count += 1) receive(Buffer.alloc(windowBytes / 4))
  expect(grants()).toEqual([])
  expect(() => receive(Buffer.alloc(1))).toThrow('more bytes than its window')
  const again = openStream()
  for (let count = 0; count < 4; count += 1) again.receive(Buffer.alloc(windowBytes / 4))
  again.readable.on('data', () => {})
  await expect.poll(again.grants).toEqual([windowBytes])
  readable.destroy()
})
