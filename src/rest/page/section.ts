// Renders what the page says of one route.

import { documentedFailuresOf, failureBody } from '../documented-failures.ts'
import { isImplemented } from '../not-implemented.ts'
import { descriptionOf } from '../openapi/openapi.ts'
import type { JsonSchema } from '../openapi/schemas.ts'
import type { DocumentedFailure, Route } from '../route.ts'
import { html, type Markup } from './markup.ts'
import { printJson, printRequest } from './requests.ts'
import { renderSchema, renderType } from './schemas.ts'

export type Tools = {
  print(schema: NonNullable<Route['query']>): JsonSchema
  /** An example answer of a route. */
  answerOf(route: Route): unknown
}

export function renderRoute(route: Route, tools: Tools): Markup {
  const { method, path, operationId, summary, takesIdempotencyKey } = route
  const body = isImplemented(route) ? renderUse(route, tools) : renderRefusal(route)
  return html`<section id="${operationId}"><h3>${summary}</h3><p class="route"><code>${method} ${path}</code></p>
<p>${descriptionOf(route)}${takesIdempotencyKey ? ' Accepts the header Idempotency-Key.' : ''}</p>
${body}</section>
`
}

function renderUse(route: Route, tools: Tools): Markup {
  const { produces, params, query, result } = route
  const { print, answerOf } = tools
  const body = route.body ?? route.documentedBody
  const answer = answerOf(route)
  return html`<h4>Example</h4>${renderExample('Request', printRequest(route))}
${renderExample('Answer', produces ? String(answer) : printJson(answer))}
${renderParameters('Path parameters', params, print)}${renderParameters('Query parameters', query, print)}
${body ? html`<h4>Body</h4>${renderSchema(print(body))}` : []}
<h4>200 ${produces ?? ''}</h4>${renderSchema(print(result))}
<h4>Failures</h4><table>${documentedFailuresOf(route).map(failure => renderFailure(failure, print))}</table>`
}

function renderRefusal({ failures = [] }: Route): Markup {
  const refusals = failures.map(
    ({ status, error, when }) => html`<li>${String(status)} <code>${error}</code>: ${when}</li>`,
  )
  return html`<div class="refused"><p><strong>Always answers 501.</strong></p><ul>${refusals}</ul></div>`
}

/** Long answers scroll, also with the keyboard. */
function renderExample(title: string, text: string): Markup {
  return html`<pre tabindex="0" role="group" aria-label="${title}">${text}</pre>`
}

function renderFailure({ status, error, when, body = failureBody }: DocumentedFailure, print: Tools['print']): Markup {
  return html`<tr><th>${String(status)}</th><td><code>${error}</code></td><td>${when}</td><td>${renderType(print(body))}</td></tr>`
}

function renderParameters(title: string, schema: Route['query'], print: Tools['print']): Markup[] {
  const printed = schema ? print(schema) : {}
  return Object.keys(printed.properties ?? {}).length > 0 ? [html`<h4>${title}</h4>${renderSchema(printed)}`] : []
}
