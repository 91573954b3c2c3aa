// Messages that name items by their ids, and fields of inputs. Each face prints them its own way: `42` and `target_state` over
// REST, `ins_42` and `targetState` over GraphQL.

import { type IdType, printId } from './ids.ts'

/** An item that a message names. It is no text, so a face never mistakes text of the user for one. */
type Mention = { type: IdType; id: number | bigint } | { field: string }

/** A message with mentions. As a string it has bare integers, as REST prints them, and the fields of the domain. */
class MessageWithIds {
  readonly parts: readonly (string | Mention)[]

  constructor(parts: readonly (string | Mention)[]) {
    this.parts = parts
  }

  toString(): string {
    return this.parts.map(part => printPart(part, ({ id }) => String(id))).join('')
  }
}

export type Message = string | MessageWithIds

export function mention(type: IdType, id: number | bigint): Mention {
  return { type, id }
}

/** A field of the input, by its name in the domain. */
export function mentionField(field: string): Mention {
  return { field }
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

/** The message with a face's names of the fields that it mentions. */
export function renameFields(message: Message, names: Record<string, string>): Message {
  if (typeof message === 'string') return message
  const rename = (field: string) => (Object.hasOwn(names, field) ? (names[field] ?? field) : field)
  return new MessageWithIds(message.parts.map(part => (isFieldMention(part) ? { field: rename(part.field) } : part)))
}

/** The message with typed ids, such as `ins_42`. */
export function printTypedIds(message: Message): string {
  if (typeof message === 'string') return message
  return message.parts.map(part => printPart(part, ({ type, id }) => printId(type, id))).join('')
}

function isFieldMention(part: string | Mention): part is { field: string } {
  return typeof part === 'object' && 'field' in part
}

function printPart(part: string | Mention, print: (item: Exclude<Mention, { field: string }>) => string): string {
  if (typeof part === 'string') return part
  return isFieldMention(part) ? part.field : print(part)
}
