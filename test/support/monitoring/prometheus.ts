// Debian's Prometheus, with the configuration of docs/operating.md and the addresses of a test.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { blocksOf, readPage } from '../docs.ts'
import { freePorts, startDaemon } from '../failover/programs.ts'
import { alertsFile } from './files.ts'

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>
type Sample = { metric: Record<string, string>; value: [number, string] }
type Alert = { labels: Record<string, string>; annotations: Record<string, string>; state: 'pending' | 'firing' }

/** Runs promtool. Returns what it prints, and fails if that finds a problem. */
export async function promtool(bin: string, args: string[], input = ''): Promise<string> {
  const running = promisify(execFile)(join(bin, 'promtool'), args)
  running.child.stdin?.end(input)
  const { stdout, stderr } = await running
  return stdout + stderr
}

/** Scrapes these addresses each second. Alerts fire a second after their condition begins, whatever their rule says. */
export async function startPrometheus(bin: string, targets: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-prometheus-'))
  const [file, rules] = [join(folder, 'prometheus.yml'), join(folder, 'alerts.yml')]
  await writeFile(rules, (await readFile(alertsFile, 'utf8')).replaceAll(/for: \d+m$/gm, 'for: 1s'))
  const [block = ''] = blocksOf(readPage('docs/operating.md'), 'yaml prometheus')
  const replacements = [
    ['scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s'],
    ['/etc/prometheus/alerts.yml', rules],
    ['gateway-1.example.com:4000, gateway-2.example.com:4000', targets.join(', ')],
  ] as const
  for (const [old] of replacements) if (!block.includes(old)) throw new Error(`docs/operating.md has no "${old}".`)
  await writeFile(
    file,
    replacements.reduce((text, [old, now]) => text.replace(old, now), block),
  )
  const [port = 0] = await freePorts(1)
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`]
  const daemon = startDaemon(join(bin, 'prometheus'), [...args, `--web.listen-address=127.0.0.1:${port}`], folder)

  async function ask<Data>(path: string): Promise<Data> {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`${path}: ${error}`)
    return data
  }
  return {
    file,
    query: async (expr: string) => (await ask<{ result: Sample[] }>(`query?query=${encodeURIComponent(expr)}`)).result,
    /** The rules that were evaluated, by name, and what went wrong. */
    rules: async () => {
      const { groups } = await ask<{ groups: { rules: { name: string; health: string; lastError?: string }[] }[] }>(
        'rules',
      )
      return groups.flatMap(({ rules }) => rules.map(({ name, health, lastError }) => ({ name, health, lastError })))
    },
    firing: async () => (await ask<{ alerts: Alert[] }>('alerts')).alerts.filter(({ state }) => state === 'firing'),
    async stop() {
      await daemon.stop()
      await rm(folder, { recursive: true })
    },
  }
}
