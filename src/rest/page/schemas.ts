// Renders the schemas of requests and answers as HTML.

import type { JsonSchema } from '../openapi/schemas.ts'
import { html, type Markup } from './markup.ts'
import { nameOf } from './samples.ts'

/** An object becomes a table of its fields, any other schema a phrase. A reference becomes a link to its table. */
export function renderSchema(schema: JsonSchema): Markup {
  return schema.properties ? renderFields(schema) : html`<p>${renderType(schema)}</p>`
}

function renderFields({ properties = {}, required = [] }: JsonSchema): Markup {
  const rows = Object.entries(properties).map(([name, field]) => {
    const { description } = field
    const within = findObjectSchema(field)
    return html`<tr><th><code>${name}</code></th><td>${renderType(field)}${required.includes(name) ? '' : ', optional'}</td>
      <td>${typeof description === 'string' ? description : ''}${within ? renderFields(within) : []}</td></tr>`
  })
  return html`<table>${rows}</table>`
}

/** The object in a field or in its list items. Undefined for a reference, which becomes a link. */
function findObjectSchema(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties) return schema
  const items = schema['items'] as JsonSchema | undefined
  return items && findObjectSchema(items)
}

/** The type of a value in a few words. */
export function renderType(schema: JsonSchema): Markup {
  const { $ref, enum: options, const: only, type, items } = schema as Record<string, unknown>
  const choices = (schema['anyOf'] ?? schema['allOf'] ?? schema['oneOf']) as JsonSchema[] | undefined
  if (typeof $ref === 'string') return renderReference(nameOf($ref))
  if (choices) return html`${choices.map((choice, index) => html`${index ? ' or ' : ''}${renderType(choice)}`)}`
  if (options) return html`<code>${(options as unknown[]).map(option => JSON.stringify(option)).join(' | ')}</code>`
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`
  if (items) return html`list of ${renderType(items as JsonSchema)}`
  return html`${Array.isArray(type) ? type.join(' or ') : String(type ?? 'anything')}`
}

function renderReference(name: string): Markup {
  return html`<a href="#${name}">${name}</a>`
}
