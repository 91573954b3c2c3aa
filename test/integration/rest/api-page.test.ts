import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { html } from '../../../src/rest/openapi/markup.ts'
import { routes } from '../../../src/rest/routes.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let page: string
let headers: Headers

beforeAll(async () => {
  app = await startApp()
  const response = await app.fetch(new Request('http://berth.test/api/v0/docs'))
  expect(response.status).toBe(200)
  page = await response.text()
  headers = response.headers
})

afterAll(() => app.close())

const findAll = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, found]) => found as string)

describe('the documentation page', () => {
  it('is HTML that needs no key, runs no script and loads nothing', () => {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'unsafe-inline';/)
    expect(page).toMatch(/^<!doctype html>/)
    expect(page).not.toMatch(/<(script|link|img|iframe)|\son\w+=|\ssrc=|url\(/i)
  })

  it('shows every route with its texts', async () => {
    const text = page.replace(/<[^>]*>/g, '')
    const plain = text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
    for (const { method, path, operationId, summary, about, failures = [] } of routes) {
      expect(page).toContain(`<section id="${operationId}">`)
      for (const expected of [`${method} ${path}`, summary, about, ...failures.map(({ when }) => when)])
        expect(plain).toContain(expected)
    }
  })

  it('describes every field of every schema', async () => {
    const { body } = await app.rest(undefined, 'GET', '/openapi.json')
    for (const [name, { properties = {}, description }] of Object.entries<Record<string, string | object>>(
      body.components.schemas,
    )) {
      const [, section = ''] = page.split(`<section id="${name}">`)
      const [own = ''] = section.split('</section>')
      expect(own).toContain(html`${String(description)}`.html)
      for (const field of Object.keys(properties)) expect(own).toContain(`<code>${field}</code>`)
    }
  })

  it('links only to its own sections and to the OpenAPI document', () => {
    const ids = findAll(/\sid="([^"]*)"/g)
    expect(new Set(ids).size).toBe(ids.length)
    const links = findAll(/href="([^"]*)"/g)
    expect(links.length).toBeGreaterThan(routes.length)
    expect(links.filter(link => !ids.includes(link.slice(1)))).toEqual(['/api/v0/openapi.json'])
  })
})

it('escapes text in HTML', () => {
  expect(html`<p title="${'"'}">${`<b> & 'c'`}${html`<i>${'>'}</i>`}${[]}</p>`.html).toBe(
    '<p title="&quot;">&lt;b&gt; &amp; &#39;c&#39;<i>&gt;</i></p>',
  )
})
