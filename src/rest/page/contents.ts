import { isImplemented } from '../not-implemented.ts'
import type { Route } from '../route.ts'
import { html, type Markup } from './markup.ts'
import type { Noun } from './nouns.ts'

/** Links to all routes, by noun. */
export function renderContents(nouns: Noun[]): Markup {
  return html`<nav id="contents" aria-label="Routes">${nouns.map(renderNoun)}<p><a href="#not-served">Not served</a></p>
<p><a href="#shapes">Shapes</a></p></nav>`
}

function renderNoun({ tag, routes }: Noun): Markup {
  return html`<details open><summary>${tag}</summary><ul>${routes.map(renderEntry)}</ul></details>`
}

function renderEntry(route: Route): Markup {
  const { operationId, method, path, summary } = route
  const status = isImplemented(route) ? [] : html` <span class="status">501</span>`
  return html`<li><a href="#${operationId}">${summary}<code>${method} ${path}</code></a>${status}</li>
`
}
