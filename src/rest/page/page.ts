// Renders the OpenAPI document as one HTML page, with its style and its script inside.

import { createSchemaPrinter, type JsonSchema } from '../openapi/schemas.ts'
import type { Route } from '../route.ts'
import { unservedPaths } from '../unserved.ts'
import { renderContents } from './contents.ts'
import { html, type Markup } from './markup.ts'
import { groupByNoun } from './nouns.ts'
import { sampleAddress } from './sample-values.ts'
import { createSampler } from './samples.ts'
import { renderSchema } from './schemas.ts'
import { pageScript } from './script.ts'
import { renderRoute, type Tools } from './section.ts'
import { style } from './style.ts'

export function renderApiPage(routes: Route[]): string {
  const { print, components } = createSchemaPrinter()
  const nouns = groupByNoun(routes)
  const tools = { print, answerOf: exampleAnswers({ print, components }) }
  const groups = nouns.map(({ tag, about, routes: own }) => {
    return html`<div><h2>${tag}</h2><p>${about}</p>${own.map(route => renderRoute(route, tools))}</div>`
  })
  const shapes = Object.entries(components).map(([name, schema]) => renderShape(name, schema as JsonSchema))
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth: the REST interface</title><style>${style}</style></head><body>
<a class="skip" href="#routes">Skip to the routes</a>
${introduction}
<search id="search" hidden><label>Search <input type="search" placeholder="rent, label, dph_total" aria-keyshortcuts="/"></label>
<output></output></search>
<div class="columns">${renderContents(nouns)}<main id="routes">${groups}${renderUnserved()}
<div><h2 id="shapes">Shapes</h2><p>What requests and answers share.</p>${shapes}</div></main></div>
<script>${{ html: pageScript }}</script></body></html>`.html
}

/** Makes the example answers of routes: from their schemas, or as a route says. */
export function exampleAnswers({ print, components }: ReturnType<typeof createSchemaPrinter>): Tools['answerOf'] {
  const sample = createSampler(components)
  return ({ result, example }) => {
    const made = sample(print(result))
    const { answer = made } = example ?? {}
    const isPart = typeof answer === 'object' && !Array.isArray(answer)
    return isPart ? { ...(made as object), ...answer } : answer
  }
}

function renderUnserved(): Markup {
  const rows = Object.entries(unservedPaths).map(
    ([path, instead]) => html`<tr><th><code>/api/v0/${path}/</code></th><td>${instead}</td></tr>`,
  )
  return html`<div><h2>Not served</h2><section id="not-served"><p>Clients may know these paths from elsewhere. They answer 404, with
what to do instead.</p><table>${rows}</table></section></div>
`
}

function renderShape(name: string, schema: JsonSchema): Markup {
  const { description } = schema
  return html`<section id="${name}"><h3>${name}</h3><p>${String(description ?? '')}</p>${renderSchema(schema)}</section>
`
}

const introduction = html`<h1>Berth: the REST interface</h1>
<p>Send your key as <code>Authorization: Bearer KEY</code>. Bodies are JSON. Every path works with and without its
trailing slash. Every failure is an object with <code>success</code>, <code>error</code> and <code>msg</code>. The OpenAPI
document is at <a href="/api/v0/openapi.json">/api/v0/openapi.json</a>.</p>
<p>The examples run in a shell that knows the address of this gateway and your key. Their ids are made up:</p>
<pre tabindex="0">export BERTH=${sampleAddress}
export KEY=berth_…</pre>
<p>A route marked <span class="status">501</span> is one that clients know and Berth does not offer. It says what to do instead.</p>`
