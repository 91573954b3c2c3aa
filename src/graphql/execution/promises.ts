export function isPromise<T>(value: T | PromiseLike<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Puts the value in the place of its promise. */
export async function awaitInPlace(
  answer: Record<string, unknown>,
  name: string,
  value: Promise<unknown>,
): Promise<void> {
  answer[name] = await value
}

/** Throws the error once the promise, whose value is no longer needed, has a value or an error. */
export function rethrowWhenDone(promise: Promise<unknown>, error: unknown): Promise<never> {
  const rethrow = () => {
    throw error
  }
  return promise.then(rethrow, rethrow)
}

/** Node ends a process that leaves an error of a promise unhandled. */
export function ignoreErrors(values: readonly unknown[]): void {
  Promise.all(values).catch(() => {})
}
