import { z } from 'zod'
import { text } from './values.ts'

/** The result of most changes. Some clients mistake an object with more fields for a failure. */
export const okResult = z
  .object({ success: z.literal(true).describe('Always true.') })
  .meta({ id: 'OkResult', description: 'The request succeeded.' })

/** For routes whose clients print `msg`. */
export const messageResult = z
  .object({ success: z.literal(true).describe('Always true.'), msg: text('What was done, as a sentence.') })
  .meta({ id: 'MessageResult', description: 'The request succeeded, with a message for people.' })
