// Renders the OpenAPI document as one HTML page without scripts or external resources.

import { documentedFailuresOf, failureBody } from './documented-failures.ts'
import { html, type Markup } from './openapi/markup.ts'
import { descriptionOf } from './openapi/openapi.ts'
import { renderSchema, renderType } from './openapi/page-schemas.ts'
import { createSchemaPrinter, type JsonSchema } from './openapi/schemas.ts'
import { type DocumentedFailure, type Route, tags } from './route.ts'

type Print = (schema: NonNullable<Route['query']>) => JsonSchema

export function renderApiPage(routes: Route[]): string {
  const { print, components } = createSchemaPrinter()
  const sections = Object.entries(tags).map(([tag, about]) => {
    const own = routes.filter(route => route.tag === tag)
    return html`<h2>${tag}</h2><p>${about}</p>${own.map(route => renderRoute(route, print))}`
  })
  const contents = Object.keys(tags).map(tag => {
    const links = routes
      .filter(route => route.tag === tag)
      .map(
        ({ operationId, method, path, summary }) =>
          html`<li><a href="#${operationId}"><code>${method} ${path}</code></a> ${summary}</li>`,
      )
    return html`<h3>${tag}</h3><ul>${links}</ul>`
  })
  const shapes = Object.entries(components).map(([name, schema]) => {
    const { description } = schema as JsonSchema
    return html`<section id="${name}"><h3>${name}</h3><p>${String(description ?? '')}</p>${renderSchema(schema as JsonSchema)}</section>`
  })
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Berth: the REST interface</title><style>${style}</style></head><body>
<h1>Berth: the REST interface</h1>
<p>Send your key as <code>Authorization: Bearer KEY</code>. Bodies are JSON. Every path works with and without its
trailing slash. Every failure is an object with <code>success</code>, <code>error</code> and <code>msg</code>. The OpenAPI
document is at <a href="/api/v0/openapi.json">/api/v0/openapi.json</a>.</p>
<nav>${contents}<p><a href="#shapes">Shapes</a></p></nav>${sections}<h2 id="shapes">Shapes</h2>${shapes}
</body></html>`.html
}

function renderRoute(route: Route, print: Print): Markup {
  const { method, path, operationId, summary, takesIdempotencyKey, produces, params, query, result } = route
  const body = route.body ?? route.documentedBody
  return html`<section id="${operationId}"><h3>${summary}</h3><p class="route"><code>${method} ${path}</code></p>
<p>${descriptionOf(route)}${takesIdempotencyKey ? ' Accepts the header Idempotency-Key.' : ''}</p>
${renderParameters('Path parameters', params, print)}${renderParameters('Query parameters', query, print)}
${body ? html`<h4>Body</h4>${renderSchema(print(body))}` : []}
<h4>200 ${produces ?? ''}</h4>${renderSchema(print(result))}
<h4>Failures</h4><table>${documentedFailuresOf(route).map(failure => renderFailure(failure, print))}</table></section>`
}

function renderFailure({ status, error, when, body = failureBody }: DocumentedFailure, print: Print): Markup {
  return html`<tr><th>${String(status)}</th><td><code>${error}</code></td><td>${when}</td><td>${renderType(print(body))}</td></tr>`
}

function renderParameters(title: string, schema: Route['query'], print: Print): Markup[] {
  const printed = schema ? print(schema) : {}
  return Object.keys(printed.properties ?? {}).length > 0 ? [html`<h4>${title}</h4>${renderSchema(printed)}`] : []
}

const style = html`
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
section { border-top: 1px solid #8886; margin-top: 2rem } .route code { font-size: 1.1em; font-weight: bold }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }
tr { border-bottom: 1px solid #8883 } th { font-weight: normal; white-space: nowrap } td { overflow-wrap: break-word }
h4 { margin: 1rem 0 .2rem }`
