// The files of docs/deploy. test/long/deploy starts them.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseConfig } from '../../../src/config.ts'
import { blocksOf, chapterOf, readPage } from '../../support/docs.ts'

const deploy = join(import.meta.dirname, '../../../docs/deploy')
const read = (name: string) => readFileSync(join(deploy, name), 'utf8')

it('make-secrets.sh makes secrets that a gateway takes, and the roles of docs/operating.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-secrets-'))
  cpSync(join(deploy, 'make-secrets.sh'), join(folder, 'make-secrets.sh'))
  execFileSync(join(folder, 'make-secrets.sh'))
  const file = (name: string) => join(folder, 'secrets', name)
  const { databaseUrl, ownerUrl, metricsUrl, secret } = parseConfig({
    DATABASE_URL_FILE: file('database-url'),
    DATABASE_OWNER_URL_FILE: file('database-owner-url'),
    DATABASE_METRICS_URL_FILE: file('database-metrics-url'),
    BERTH_SECRET_FILE: file('berth-secret'),
  })
  const urls = [ownerUrl, databaseUrl, metricsUrl].map(url => new URL(url as string))
  const passwords = urls.map(({ password }) => password)
  expect(urls.map(({ username }) => username)).toEqual(['berth_owner', 'berth_app', 'berth_metrics'])
  expect(new Set([...passwords, secret]).size).toBe(4)
  for (const text of [...passwords, secret]) expect(text).toMatch(/^[0-9a-f]{64}$/)
  const [documented = ''] = blocksOf(chapterOf(readPage('docs/operating.md'), '### Roles of the database'), 'sql')
  const names = ['owner-password', 'app-password', 'metrics-password']
  const sql = names.reduce((text, name, index) => text.replace(name, passwords[index] as string), documented)
  expect(readFileSync(file('roles.sql'), 'utf8')).toBe(sql)
  rmSync(folder, { recursive: true })
})

it('give a gateway the time that it takes to stop', () => {
  const { drainMs } = parseConfig({ DATABASE_URL: 'postgresql://db.example.com/berth' })
  const seconds = [
    ...read('berth.service').matchAll(/^TimeoutStopSec=(\d+)$/gm),
    ...(read('compose.yaml').split('\n  gateway:')[1] ?? '').matchAll(/stop_grace_period: (\d+)s/g),
  ].map(([, number]) => Number(number))
  expect(seconds).toHaveLength(2)
  for (const number of seconds) expect(number * 1_000).toBeGreaterThan(drainMs + 5_000)
})

it('are all named in docs/deploying.md or in one another', () => {
  const texts = [readPage('docs/deploying.md'), read('Dockerfile')].join('\n')
  const names = readdirSync(deploy).filter(name => !name.startsWith('.') && !name.startsWith('secrets'))
  expect(names.filter(name => !texts.includes(`docs/deploy/${name}`))).toEqual([])
})
