import { MachineUnreachable } from '../../provider.ts'

/** A request that the engine refused. Its text is for the operator: it may name paths and addresses of the host. */
export class EngineError extends Error {
  override name = 'EngineError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Undefined if the engine says that the thing does not exist. */
export async function unlessMissing<Value>(call: Promise<Value>): Promise<Value | undefined> {
  return await call.catch((error: unknown) => {
    if (error instanceof EngineError && error.status === 404) return undefined
    throw error
  })
}

/** Why reading a stream failed: the caller gave up, or the machine is gone. */
export function brokenStreamError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof EngineError || error instanceof MachineUnreachable) return error
  return new MachineUnreachable('The engine of the machine ended an answer too early.', { cause: error })
}
