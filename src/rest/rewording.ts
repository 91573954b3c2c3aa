import { DomainError } from '../domain/errors.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import { RestFailure } from './errors.ts'

/** The failure that a route answers instead of a refusal. Undefined keeps the refusal. */
type Rewording = (refusal: DomainError) => [status: number, error: string, msg: string] | undefined

/** Rewrites refusals in the wording that a route's clients expect. */
export async function rewordRefusals<Result>(answering: Promise<Result>, words: Rewording): Promise<Result> {
  try {
    return await answering
  } catch (error) {
    const refusal = translateDatabaseError(error)
    const failure = refusal instanceof DomainError ? words(refusal) : undefined
    throw failure ? new RestFailure(...failure) : error
  }
}
