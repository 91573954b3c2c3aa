// A real Prometheus scrapes two gateways, evaluates the alert rules, and answers what the dashboard asks.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { alertsFile, alertTestsFile, readAlerts, readPanels } from '../support/monitoring/files.ts'
import { findPrometheus } from '../support/monitoring/programs.ts'
import { type Prometheus, promtool, startPrometheus } from '../support/monitoring/prometheus.ts'
import { type GatewayProcess, startGateway } from '../support/processes/programs.ts'

const bin = (await findPrometheus()) ?? ''
const slowly = { timeout: 120_000, interval: 500 }

describe.skipIf(bin === '')('Prometheus', () => {
  let database: TestDatabase
  let gateways: GatewayProcess[]
  let addresses: string[]
  let prometheus: Prometheus

  beforeAll(async () => {
    database = await createDatabase()
    const faces = { METRICS: 'true', SSH_PORT: '0', NOTEBOOK_PORT: '0' }
    const env = { ...faces, DATABASE_URL: database.url, BERTH_SECRET: 'a secret of these tests', DEMO_MARKET: 'false' }
    gateways = [await startGateway(env), await startGateway(env)]
    addresses = gateways.map(({ url }) => new URL(url).host)
    prometheus = await startPrometheus(bin, addresses)
  })

  afterAll(async () => {
    await prometheus?.stop()
    for (const { child, exit } of gateways ?? []) {
      child.kill('SIGKILL')
      await exit
    }
    // The last test may have dropped it.
    await database?.drop().catch(() => {})
  })

  const readMetrics = async () => await (await fetch(`${gateways[0]?.url}/metrics`)).text()
  /** The names and gateways of the alerts that fire. */
  const firing = async () =>
    (await prometheus.firing()).map(({ labels }) => [labels['alertname'], labels['instance']].join(' '))

  it('finds no fault in the rules, the configuration and the metrics', async () => {
    expect(await promtool(bin, ['check', 'rules', alertsFile])).toContain(`SUCCESS: ${readAlerts().length} rules found`)
    expect(await promtool(bin, ['check', 'config', prometheus.file])).toContain('SUCCESS')
    expect(await promtool(bin, ['check', 'metrics'], await readMetrics())).toBe('')
  })

  it('fires each alert when it should, and none otherwise', async () => {
    expect(await promtool(bin, ['test', 'rules', alertTestsFile])).toContain('SUCCESS')
  })

  it('scrapes all gateways and evaluates all rules, and no gateway or database is missing', async () => {
    const up = async () => (await prometheus.query('up == 1')).map(({ metric }) => metric['instance']).toSorted()
    await expect.poll(up, slowly).toEqual(addresses.toSorted())
    const evaluated = readAlerts().map(([name]) => ({ name, health: 'ok', lastError: undefined }))
    await expect.poll(prometheus.rules, slowly).toEqual(evaluated)
    await expect.poll(firing, slowly).not.toContainEqual(expect.stringMatching(/Down|NoGateway/))
  })

  it('answers every panel of the dashboard, with the labels of its legend', async () => {
    for (const url of gateways.map(gateway => gateway.url)) {
      await fetch(`${url}/api/v0/instances/`)
      await fetch(`${url}/graphql`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    }
    const targets = readPanels().flatMap(({ title, targets = [] }) => targets.map(target => ({ title, ...target })))
    for (const { title, expr, legendFormat } of targets) {
      const query = expr.replaceAll('$__rate_interval', '20s').replaceAll('$job', 'berth').replaceAll('$instance', '.*')
      const legend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
      const answer = async () => {
        const [first] = await prometheus.query(query)
        return first && legend.filter(label => !(label in first.metric))
      }
      await expect.poll(answer, { ...slowly, message: `${title}: ${query}` }).toEqual([])
    }
  })

  it('fires when a gateway dies, when the database does, and when no gateway is left', async () => {
    const [first, second] = gateways as [GatewayProcess, GatewayProcess]
    second.child.kill('SIGKILL')
    await expect.poll(firing, slowly).toContain(`BerthGatewayDown ${addresses[1]}`)
    expect(await firing()).not.toContain(`BerthGatewayDown ${addresses[0]}`)
    await database.drop()
    await expect.poll(firing, slowly).toContain(`BerthDatabaseDown ${addresses[0]}`)
    const alert = (await prometheus.firing()).find(({ labels }) => labels['alertname'] === 'BerthDatabaseDown')
    expect(alert?.annotations['summary']).toBe(`The gateway ${addresses[0]} cannot read from its database.`)
    first.child.kill('SIGKILL')
    await expect.poll(firing, slowly).toContain('BerthNoGateway ')
  })
})
