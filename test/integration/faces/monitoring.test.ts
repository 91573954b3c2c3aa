// The alert rules, the dashboard and the docs name the metrics that a gateway exposes.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { chapterOf, readPage } from '../../support/docs.ts'
import {
  alertsFile,
  alertTestsFile,
  type Panel,
  readAlerts,
  readPanels,
  readQueries,
} from '../../support/monitoring/files.ts'
import { metricsIn, parseNames, parseSamples, problemsOf, type Samples } from '../../support/monitoring/samples.ts'

let app: TestApp
let names: string[]
let samples: Samples

beforeAll(async () => {
  const notebookProxy = { protocol: 'https', host: 'notebooks.example.com' } as const
  app = await startApp({ metrics: true, ssh: true, sshProxy: { host: '127.0.0.1', port: 2222 }, notebookProxy })
  const key = await app.newKey()
  await app.graphql(key, '{ viewer { account { id } } }')
  await app.rest(key, 'GET', '/instances/')
  const text = await (await app.fetch(new Request('http://berth.test/metrics'))).text()
  names = parseNames(text)
  samples = parseSamples(text)
})

afterAll(() => app.close())

it('docs/operating.md explains every metric, and no other', () => {
  const rows = chapterOf(readPage('docs/operating.md'), '## Monitoring').match(/^\| `(?:berth|process)_.*?\|/gm) ?? []
  expect(names.length).toBeGreaterThan(20)
  expect(rows.flatMap(metricsIn).toSorted()).toEqual(names.toSorted())
})

it('an expression with a metric, label or value that no gateway exposes has a problem', () => {
  const good = 'sum by (kind, job) (berth_due_work{job="berth", kind="billing"}) > 0'
  expect(problemsOf(good, samples)).toEqual([])
  for (const [from, to] of [
    ['berth_due_work', 'berth_due_works'],
    ['"billing"', '"bills"'],
    ['kind=', 'kinds='],
    ['by (kind', 'by (kinds'],
  ] as const)
    expect(problemsOf(good.replace(from, to), samples), to).toHaveLength(1)
  expect(problemsOf('vector(1)', samples)).toEqual(['no metric'])
})

describe('the alert rules', () => {
  const alerts = readAlerts()

  it.each(alerts)('%s asks for what gateways expose', (_name, expr) => {
    expect(problemsOf(expr, samples)).toEqual([])
  })

  it('are all read by this test, and name metrics in their texts that exist', () => {
    const text = readFileSync(alertsFile, 'utf8')
    expect(alerts).toHaveLength(text.split('- alert:').length - 1)
    expect(metricsIn(text).filter(name => !samples.has(name))).toEqual([])
  })

  it('are tried by the long suite, each in a case where it fires', () => {
    const firing = /- \{ labels: '\{alertname="(\w+)".*', value: 1 \}/g
    const tested = [...readFileSync(alertTestsFile, 'utf8').matchAll(firing)].map(([, name]) => name)
    expect(tested).toEqual(expect.arrayContaining(alerts.map(([name]) => name)))
  })
})

describe('the dashboard', () => {
  it.each(readQueries())('%s asks for what gateways expose: %s', (_title, expr) => {
    expect(problemsOf(expr, samples)).toEqual([])
  })

  it('shows every metric', () => {
    const shown = readQueries().flatMap(([, expr]) => metricsIn(expr).map(name => name.replace(/_bucket$/, '')))
    expect([...new Set(shown)].toSorted()).toEqual(names.toSorted())
  })

  it('has panels that do not overlap, with ids of their own', () => {
    const panels = readPanels()
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel) =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
    const pairs = panels.flatMap((panel, index) => panels.slice(index + 1).map(other => [panel, other] as const))
    expect(pairs.filter(([panel, other]) => overlap(panel, other))).toEqual([])
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
  })
})
