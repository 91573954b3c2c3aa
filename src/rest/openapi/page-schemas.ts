// The shapes of requests and answers, as a reader sees them.

import { html, type Markup } from './markup.ts'
import type { JsonSchema } from './schemas.ts'

/** A table of fields for objects, and a phrase for the rest. Those with an id are a link to where their table is. */
export function shape(schema: JsonSchema): Markup {
  return schema.properties ? fields(schema) : html`<p>${phrase(schema)}</p>`
}

function fields({ properties = {}, required = [] }: JsonSchema): Markup {
  const rows = Object.entries(properties).map(([name, field]) => {
    const { description } = field
    const within = inner(field)
    return html`<tr><th><code>${name}</code></th><td>${phrase(field)}${required.includes(name) ? '' : ', optional'}</td>
      <td>${typeof description === 'string' ? description : ''}${within ? fields(within) : []}</td></tr>`
  })
  return html`<table>${rows}</table>`
}

/** The object that a field holds, or a list of them, where it has no name to be looked up by. */
function inner(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties) return schema
  const items = schema['items'] as JsonSchema | undefined
  return items && inner(items)
}

/** What a value may be, in a few words. */
export function phrase(schema: JsonSchema): Markup {
  const { $ref, enum: options, const: only, type, items } = schema as Record<string, unknown>
  const choices = (schema['anyOf'] ?? schema['allOf'] ?? schema['oneOf']) as JsonSchema[] | undefined
  if (typeof $ref === 'string') return reference($ref.slice($ref.lastIndexOf('/') + 1))
  if (choices) return html`${choices.map((choice, index) => html`${index ? ' or ' : ''}${phrase(choice)}`)}`
  if (options) return html`<code>${(options as unknown[]).map(option => JSON.stringify(option)).join(' | ')}</code>`
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`
  if (items) return html`list of ${phrase(items as JsonSchema)}`
  return html`${Array.isArray(type) ? type.join(' or ') : String(type ?? 'anything')}`
}

function reference(name: string): Markup {
  return html`<a href="#${name}">${name}</a>`
}
