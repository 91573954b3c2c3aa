// Messages that name items by their ids. Each face prints an id its own way: `42` over REST, `ins_42` over GraphQL.

import { type IdType, printId } from './ids.ts'

/** An item that a message names. It is no text, so a face never mistakes text of the user for one. */
type Mention = { type: IdType; id: number | bigint }

/** A message with mentions. As a string it has bare integers, as REST prints them. */
class MessageWithIds {
  readonly parts: readonly (string | Mention)[]

  constructor(parts: readonly (string | Mention)[]) {
    this.parts = parts
  }

  toString(): string {
    return this.parts.map(part => (typeof part === 'string' ? part : String(part.id))).join('')
  }
}

export type Message = string | MessageWithIds

export function mention(type: IdType, id: number | bigint): Mention {
  return { type, id }
}

/** A template string whose values can be mentions, and messages with mentions. */
export function withIds(texts: TemplateStringsArray, ...values: (Message | Mention | number)[]): Message {
  const parts = texts.flatMap((text, index) => {
    const value = values[index - 1]
    return value === undefined ? [text] : [...partsOf(value), text]
  })
  return new MessageWithIds(parts)
}

export function joinMessages(messages: readonly Message[]): Message {
  return new MessageWithIds(messages.flatMap((message, index) => [...(index > 0 ? [' '] : []), ...partsOf(message)]))
}

function partsOf(value: Message | Mention | number): readonly (string | Mention)[] {
  if (value instanceof MessageWithIds) return value.parts
  return [typeof value === 'number' ? String(value) : value]
}

/** The message with typed ids, such as `ins_42`. */
export function printTypedIds(message: Message): string {
  if (typeof message === 'string') return message
  return message.parts.map(part => (typeof part === 'string' ? part : printId(part.type, part.id))).join('')
}
