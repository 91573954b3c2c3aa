import type { Terminal, WindowSize } from '../providers/provider.ts'

const maxSize = 1_000
const usualSize: WindowSize = { columns: 80, rows: 24 }

/** A client without a window of its own says 0. */
export function windowSizeOf({ cols, rows }: { cols: number; rows: number }): WindowSize {
  const sizeOf = (value: number, usual: number) => (value > 0 ? Math.min(value, maxSize) : usual)
  return { columns: sizeOf(cols, usualSize.columns), rows: sizeOf(rows, usualSize.rows) }
}

/** A name of a terminal has no other characters than these. */
export function terminalOf({ term, ...size }: { term: string; cols: number; rows: number }): Terminal {
  return { type: /^[\w.+-]{1,64}$/.test(term) ? term : 'xterm', ...windowSizeOf(size) }
}

/** The signals that SSH names, without SIG. */
const signals = ['ABRT', 'ALRM', 'FPE', 'HUP', 'ILL', 'INT', 'KILL', 'PIPE', 'QUIT', 'SEGV', 'TERM', 'USR1', 'USR2']

export function signalName(name: string): string | undefined {
  return signals.includes(name) ? `SIG${name}` : undefined
}
