import type { Engine } from '../../../domain/machines/engines.ts'
import type { EngineFacts } from '../../../domain/machines/inspection.ts'
import { MachineUnreachable } from '../../provider.ts'
import { inspectEngine } from './engine-facts.ts'

/** Asks an engine for its facts, for its operator. */
export async function inspectWithReason(engine: Pick<Engine, 'url' | 'tls'>): Promise<EngineFacts> {
  const advice = engine.url.startsWith('unix:')
    ? 'Start Docker, and run this as a user that may open its socket.'
    : 'See whether its address and certificates are right, and the network lets this computer through.'
  return await inspectEngine(engine).catch(error => {
    throw explainUnreachable(engine.url, error, advice)
  })
}

/** A renter reads only that a machine does not answer. Its operator or owner can do something about it. */
export function explainUnreachable(url: string, error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !(error instanceof MachineUnreachable || isTimeout(error))) return error
  const { code = error.message } = (error.cause ?? {}) as NodeJS.ErrnoException
  const why = isTimeout(error) || isTimeout(error.cause) ? 'no answer in time' : code
  return new Error(`${url} does not answer (${why}). ${advice}`, { cause: error })
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name)
}
