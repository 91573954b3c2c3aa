// The kinds of values that settings have.

import { z } from 'zod'
import type { SshProxy } from './domain/instances/instances.ts'
import type { NotebookProxy } from './domain/instances/notebook.ts'
import { isAddressRange } from './http/client.ts'

export const booleanSetting = z.enum(['true', 'false']).transform(value => value === 'true')
export const sshAddress = z
  .string()
  .regex(/^\w[\w.-]*:\d{1,5}$/)
  .transform((text): SshProxy => {
    const [host = '', port] = text.split(':')
    return { host, port: Number(port) }
  })
  // For some launch modes, REST shows the port minus one.
  .refine(({ port }) => port >= 2 && port <= 65_535)
export const notebookUrl = z
  .string()
  .regex(/^https?:\/\/[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?\/?$/i)
  .refine(text => URL.canParse(text) && /[a-z][^.]*$/.test(new URL(text).hostname))
  .transform((text): NotebookProxy => {
    const { protocol, host } = new URL(text)
    return { protocol: protocol === 'https:' ? 'https' : 'http', host }
  })
export const addressRanges = z
  .string()
  .transform(text => text.split(/[\s,]+/).filter(Boolean))
  .refine(ranges => ranges.every(isAddressRange))
export const minutes = { must: 'a number of minutes, 1 to 1440', schema: z.coerce.number().min(1).max(1440) }
export const drainSeconds = { must: 'a number of seconds, 0 to 300', schema: z.coerce.number().min(0).max(300) }
export const hours = { must: 'a number of hours, 1 to 8760', schema: z.coerce.number().min(1).max(8760) }
export const count = {
  must: 'a whole number, 0 to 1000000000',
  schema: z.coerce.number().int().min(0).max(1_000_000_000),
}
export const points = {
  must: 'a whole number, 0 or 100 to 1000000000',
  schema: count.schema.refine(number => number === 0 || number >= 100),
}
export const portButOne = z.coerce
  .number()
  .int()
  .min(0)
  .max(65_535)
  .refine(port => port !== 1)
export const gatewayUrl = z
  .string()
  .regex(/^https?:\/\/(\w[\w.-]{0,252}|\[[\da-f:]+\])(:\d{1,5})?\/?$/i)
  .refine(text => URL.canParse(text))
