import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isImplemented } from '../../../src/rest/not-implemented.ts'
import { html } from '../../../src/rest/page/markup.ts'
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
  it('is HTML that needs no key, loads nothing, and runs its own script alone', () => {
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page).toMatch(/^<!doctype html>/)
    expect(page).not.toMatch(/<(link|img|iframe|form)|\son\w+=|\ssrc=|url\(/i)
    const [script, ...others] = findAll(/<script>([\s\S]*?)<\/script>/g)
    expect(others).toEqual([])
    const hash = createHash('sha256')
      .update(script ?? '')
      .digest('base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'sha256-${hash}'`,
    )
  })

  it('lists every route in the contents, by noun, and those that answer 501 last and marked', () => {
    const [contents = ''] = findAll(/<nav[^>]*>([\s\S]*?)<\/nav>/g)
    const groups = [...contents.matchAll(/<summary>(\w+)<\/summary>([\s\S]*?)<\/details>/g)]
    expect(groups.map(([, noun]) => noun)).toEqual([
      'Offers',
      'Instances',
      'Templates',
      'Volumes',
      'Keys',
      'Billing',
      'Account',
      'Machines',
      'Interface',
    ])
    for (const [, noun, entries = ''] of groups) {
      const own = routes.filter(({ tag }) => tag === noun)
      const listed = [...entries.matchAll(/<li><a href="#(\w+)">[\s\S]*?<\/li>/g)]
      const marks = listed.map(([entry, id]) => [id, entry.includes('501')])
      expect(marks.toSorted()).toEqual(own.map(route => [route.operationId, !isImplemented(route)]).toSorted())
      expect(marks.map(([, mark]) => Number(mark))).toEqual(marks.map(([, mark]) => Number(mark)).toSorted())
    }
  })

  it('shows an example of each route, or that it always answers 501 and what to do instead', () => {
    for (const route of routes) {
      const [, section = ''] = page.split(`<section id="${route.operationId}">`)
      const [own = ''] = section.split('</section>')
      expect(own.match(/<pre /g)?.length ?? 0).toBe(isImplemented(route) ? 2 : 0)
      expect(own.includes('Always answers 501')).toBe(!isImplemented(route))
    }
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
