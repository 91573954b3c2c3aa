import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createReading } from '../../../src/http/agents/reading.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

function openReading() {
  const socket = { pause: vi.fn(), resume: vi.fn() }
  const { frame, text } = createReading(socket)
  const frames = (count: number) => {
    for (let index = 0; index < count; index += 1) frame()
  }
  return { socket, frames, text }
}

it('reads many frames at once, and rests after too many', () => {
  const { socket, frames } = openReading()
  frames(12_000)
  expect(socket.pause).not.toHaveBeenCalled()
  // Two microseconds for each: five milliseconds more than are free, so it rests for twenty.
  frames(3_000)
  expect(socket.pause).toHaveBeenCalled()
  vi.advanceTimersByTime(18)
  expect(socket.resume).not.toHaveBeenCalled()
  vi.advanceTimersByTime(3)
  expect(socket.resume).toHaveBeenCalledTimes(1)
})

it('never rests between as many frames as a fast copy has', () => {
  const { socket, frames } = openReading()
  // 100 MB per second, in pieces of 16 KiB.
  for (let ms = 0; ms < 5_000; ms += 10) {
    frames(64)
    vi.advanceTimersByTime(10)
  }
  expect(socket.pause).not.toHaveBeenCalled()
})

it('does not end a long rest with a short one', () => {
  const { socket, frames, text } = openReading()
  frames(15_000)
  text(60_000_000, () => {})
  frames(1)
  vi.advanceTimersByTime(300)
  expect(socket.resume).not.toHaveBeenCalled()
  vi.advanceTimersByTime(150)
  expect(socket.resume).toHaveBeenCalledTimes(1)
})
