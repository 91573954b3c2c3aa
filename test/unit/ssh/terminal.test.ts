import { describe, expect, it } from 'vitest'
import { isForwardable } from '../../../src/ssh/forwarding.ts'
import { signalName, terminalOf, windowSizeOf } from '../../../src/ssh/terminal.ts'

describe('what a client asks for', () => {
  it('has a window of a possible size', () => {
    expect(windowSizeOf({ cols: 132, rows: 43 })).toEqual({ columns: 132, rows: 43 })
    expect(windowSizeOf({ cols: 0, rows: 0 })).toEqual({ columns: 80, rows: 24 })
    expect(windowSizeOf({ cols: 4_294_967_295, rows: 1 })).toEqual({ columns: 1_000, rows: 1 })
  })

  it('has a terminal whose name is one', () => {
    expect(terminalOf({ term: 'xterm-256color', cols: 80, rows: 24 }).type).toBe('xterm-256color')
    for (const term of ['', 'a b', '$(reboot)', 'x\n', 'x'.repeat(65)])
      expect(terminalOf({ term, cols: 80, rows: 24 }).type).toBe('xterm')
  })

  it('has signals that SSH names', () => {
    expect([signalName('INT'), signalName('SIGINT'), signalName('9'), signalName('STOP')]).toEqual([
      'SIGINT',
      ...[undefined, undefined, undefined],
    ])
  })

  it('has forwarded ports inside the instance only', () => {
    const forwardable = (destIP: string, destPort: number) => isForwardable({ destIP, destPort })
    expect(['127.0.0.1', 'localhost', '::1'].map(name => forwardable(name, 8_080))).toEqual([true, true, true])
    expect(['10.0.0.1', 'example.com', '0.0.0.0', '127.0.0.2', ''].map(name => forwardable(name, 80))).toEqual(
      Array(5).fill(false),
    )
    expect([0, 65_536].map(port => forwardable('localhost', port))).toEqual([false, false])
  })
})
