// The alert rules and the dashboard under docs/monitoring, as tests read them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

export const alertsFile = join(root, 'docs/monitoring/alerts.yml')
export const alertTestsFile = join(root, 'test/data/alert-tests.yml')

export type Panel = {
  id: number
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string; legendFormat: string }[]
}

export function readPanels(): Panel[] {
  return JSON.parse(readFileSync(join(root, 'docs/monitoring/dashboard.json'), 'utf8')).panels
}

/** The expressions of the dashboard, by the title of their panel. */
export function readQueries(): [title: string, expr: string][] {
  return readPanels().flatMap(({ title, targets = [] }) => targets.map(({ expr }): [string, string] => [title, expr]))
}

/** The expressions of the alert rules, by the name of the alert. */
export function readAlerts(): [name: string, expr: string][] {
  const rule = /^ {6}- alert: (\w+)\n {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm
  return [...readFileSync(alertsFile, 'utf8').matchAll(rule)].map(([, name = '', block, line = '']) => [
    name,
    (block ?? line).trim(),
  ])
}
