import { DomainError } from '../domain/errors.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import { RestFailure } from './errors.ts'

/** What a route answers instead of a refusal; undefined where it has no words of its own for it. */
type Rewording = (refusal: DomainError) => [status: number, error: string, msg: string] | undefined

/** Says refusals in the words that clients of a route know. */
export async function rewordRefusals<Result>(answering: Promise<Result>, words: Rewording): Promise<Result> {
  try {
    return await answering
  } catch (error) {
    const refusal = translateDatabaseError(error)
    const failure = refusal instanceof DomainError ? words(refusal) : undefined
    throw failure ? new RestFailure(...failure) : error
  }
}
