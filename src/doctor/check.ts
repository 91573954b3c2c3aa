// What a check of the doctor says.

/** `warn`: Berth works, and something is at risk. `fail`: Berth does not start, or does not work as it should. */
export type State = 'ok' | 'warn' | 'fail'
export type Check = {
  name: string
  state: State
  /** What there is. */
  found: string
  /** What to do about it; null if all is well. */
  advice: string | null
}

export function ok(name: string, found: string): Check {
  return { name, state: 'ok', found, advice: null }
}

export function warn(name: string, found: string, advice: string): Check {
  return { name, state: 'warn', found, advice }
}

export function fail(name: string, found: string, advice: string): Check {
  return { name, state: 'fail', found, advice }
}

/** Messages of Berth say first what is wrong, then what to do. `otherwise` is the advice if a message has none. */
export function failAs(name: string, message: string, otherwise: string): Check {
  const [, found = message, advice = otherwise] = /^(.+?[.!])\s+(?=[A-Z])(.+)$/s.exec(message) ?? []
  return fail(name, found, advice)
}
