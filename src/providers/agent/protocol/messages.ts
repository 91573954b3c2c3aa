// What travels over the connection of an agent: JSON for calls, and binary frames for the bytes of streams.

import { z } from 'zod'
import { gpuAccesses } from '../../../domain/machines/engines.ts'
import { methods } from './calls.ts'
import { changedIds } from './values.ts'

/** Neither side accepts more in one message. */
export const maxMessageBytes = 4_194_304

/** A longer message must be the answer to a call, so that a host cannot make its gateway read long texts without end. */
export const maxUnaskedLength = 65_536

/** Which call a message answers. An agent begins its answers like this, so that nothing else of them has to be read. */
export function answeredCall(message: string): number | undefined {
  const [, id] = /^\{"type":"result","id":(\d{1,10}),/.exec(message) ?? []
  return id === undefined ? undefined : Number(id)
}

/** The connection breaks the protocol, and is closed. */
export class ProtocolError extends Error {
  override name = 'ProtocolError'
}

const number = z.int().min(0).max(4_294_967_295)
const channel = z.int().min(0).max(2)
const grant = z.object({ type: z.literal('grant'), id: number, channel, bytes: z.int().min(1).max(16_777_216) })
const end = z.object({ type: z.literal('end'), id: number, channel })

/** `generation`: which of the host's connections speaks. Grows with each. */
const generation = z.int().min(0)

const toAgent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    machineId: z.int().min(1),
    generation,
    mark: z.string().regex(/^\w{1,64}$/),
    gpuAccess: z.enum(gpuAccesses),
    gpuUuids: z.array(z.string().max(80)).max(1_000),
  }),
  z.object({ type: z.literal('call'), id: number, generation, method: z.enum(methods), args: z.unknown() }),
  z.object({ type: z.literal('abort'), id: number }),
  z.object({ type: z.literal('hangUp'), id: number }),
  z.object({ type: z.literal('close'), id: number }),
  grant,
  end,
])

/** Why a call failed. `outdated`: a later connection has begun. `unsupported`: the agent does not know the call. */
export const failureKinds = [
  'unreachable',
  'notRunning',
  'portRefused',
  'portTaken',
  'gpusTaken',
  'outdated',
  'unsupported',
  'other',
] as const
export type FailureKind = (typeof failureKinds)[number]

/** An agent of another version may know other kinds. */
const failureKind = z.enum(failureKinds).catch('other')
const failure = { kind: failureKind, message: z.string().max(1_000) }
const toGateway = z.discriminatedUnion('type', [
  z.object({ type: z.literal('result'), id: number, value: z.unknown() }),
  z.object({ type: z.literal('failure'), id: number, ...failure }),
  z.object({ type: z.literal('change'), id: number, instanceIds: changedIds }),
  z.object({ type: z.literal('exit'), id: number, code: z.int().min(0).max(255) }),
  /** The streams are over. With a kind: they broke off. */
  z.object({ type: z.literal('close'), id: number, kind: failure.kind.nullable() }),
  grant,
  end,
])

export type ToAgent = z.output<typeof toAgent>
export type ToGateway = z.output<typeof toGateway>
export type Welcome = Extract<ToAgent, { type: 'welcome' }>

export const parseToAgent = (message: string): ToAgent => parse(toAgent, message)
export const parseToGateway = (message: string): ToGateway => parse(toGateway, message)

function parse<Schema extends z.ZodType>(schema: Schema, message: string): z.output<Schema> {
  let json: unknown
  try {
    json = JSON.parse(message)
  } catch {
    throw new ProtocolError('A message is not JSON.')
  }
  const { success, data } = schema.safeParse(json)
  if (success) return data
  throw new ProtocolError('A message has not the form that the protocol says.')
}

/** Ids travel as texts, and instants as ISO texts. */
export function printMessage(message: object): string {
  return JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}
