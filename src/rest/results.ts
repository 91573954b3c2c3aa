import { z } from 'zod'
import { text } from './values.ts'

/** What most answer that was done. Clients take an object with more in it for a failure. */
export const okResult = z
  .object({ success: z.literal(true).describe('Always true.') })
  .meta({ id: 'Done', description: 'It was done.' })

/** For routes whose clients print what they are told. */
export const messageResult = z
  .object({ success: z.literal(true).describe('Always true.'), msg: text('What was done, for people.') })
  .meta({ id: 'Told', description: 'It was done, in words.' })
