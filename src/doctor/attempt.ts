import { toError } from '../database/failure-codes.ts'
import { type Check, warn } from './check.ts'

/** What the checks say; if one cannot be made, that it cannot. */
export async function attempt(name: string, make: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await make()
  } catch (error) {
    const found = `This could not be checked: ${toError(error).message}.`
    return [warn(name, found, 'Mend what the message says, and run "doctor" again.')]
  }
}
