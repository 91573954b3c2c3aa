import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMetrics, printMetrics } from '../../../src/http/metrics/metrics.ts'
import { createProcessMetrics } from '../../../src/http/metrics/process.ts'
import { createRequestMetrics } from '../../../src/http/metrics/requests.ts'
import { createWorkMetrics } from '../../../src/http/metrics/work.ts'

describe('the text of metrics', () => {
  it('escapes labels for Prometheus', () => {
    const samples = [
      { labels: { kind: 'a "b"\\\n' }, value: 1 },
      { suffix: '_sum', value: 0.25 },
    ]
    expect(printMetrics([{ name: 'berth_x', type: 'histogram', help: 'What it is.', samples }])).toBe(
      '# HELP berth_x What it is.\n# TYPE berth_x histogram\nberth_x{kind="a \\"b\\"\\\\\\n"} 1\nberth_x_sum 0.25\n',
    )
  })

  it('follows the format in every line', async () => {
    const requests = createRequestMetrics()
    requests.observe('/graphql', 200, 12)
    const text = printMetrics([
      ...requests.read(),
      ...(await createProcessMetrics(() => 1_500, { version: '1.2.3' })()),
    ])
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+)$/)
    }
  })
})

describe('metrics', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('are read at most once a second, for any number of requests', async () => {
    let reads = 0
    const answer = createMetrics([
      async () => {
        reads += 1
        return []
      },
    ])
    await Promise.all([answer(), answer()])
    vi.advanceTimersByTime(999)
    await answer()
    expect(reads).toBe(1)
    vi.advanceTimersByTime(1)
    expect((await answer()).headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(reads).toBe(2)
  })
})

describe('requests', () => {
  it('are counted by face and status, and by no text that a client chose', () => {
    const requests = createRequestMetrics()
    for (const path of ['/api/v0/instances/42/', '/api/secret', '/graphql', '/graphql/', '/graphqlx', undefined]) {
      requests.observe(path, 200, 1)
    }
    requests.observe('/api/v0/instances/43/', 404, 1)
    const [counted] = requests.read()
    expect(counted?.samples.map(({ labels, value }) => [labels?.['face'], labels?.['status'], value])).toEqual([
      ['rest', '200', 2],
      ['graphql', '200', 2],
      ['other', '200', 2],
      ['rest', '404', 1],
    ])
  })

  it('count in every bucket whose bound is at least their duration', () => {
    const requests = createRequestMetrics()
    for (const ms of [5, 6, 60_000]) requests.observe('/graphql', 200, ms)
    const text = printMetrics(requests.read())
    for (const [bound, count] of [
      ['0.005', 1],
      ['0.01', 2],
      ['10', 2],
      ['+Inf', 3],
    ]) {
      expect(text).toContain(`berth_http_request_duration_seconds_bucket{face="graphql",le="${bound}"} ${count}\n`)
    }
    expect(text).toContain('berth_http_request_duration_seconds_sum{face="graphql"} 60.011\n')
    expect(text).toContain('berth_http_request_duration_seconds_count{face="graphql"} 3\n')
  })
})

it('reports an unreachable database, with the metrics of the process', async () => {
  const source = createWorkMetrics({
    measure: () => Promise.reject(new Error('It is gone.')),
    measureMarket: () => Promise.reject(new Error('It is gone.')),
    pools: {
      requests: { totalCount: 5, idleCount: 2, waiting: 1 },
      work: { totalCount: 3, idleCount: 3, waiting: 0 },
    },
    streams: () => 7,
  })
  const text = printMetrics(await source())
  expect(text).toContain('berth_database_up 0\n')
  expect(text).toContain('berth_database_connections{use="requests",state="busy"} 3\n')
  expect(text).toContain('berth_database_connections{use="requests",state="idle"} 2\n')
  expect(text).toContain('berth_database_connections{use="work",state="idle"} 3\n')
  expect(text).toContain('berth_database_connections_awaited{use="requests"} 1\n')
  expect(text).toContain('berth_streams 7\n')
})
