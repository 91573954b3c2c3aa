// What an engine runs, compared with the database when everything has come to rest.

import { docker } from '../engine/docker.ts'
import type { RunSql } from './invariants.ts'

const printedContainer = '{{.Label "berth.instance"}} {{.Label "berth.mark"}} {{.State}}'
const printedNetwork = '{{.Name}}'

/** Containers and networks that are missing, should not run, are there twice, or are left over. */
export async function findDisagreements(folder: string, sql: RunSql): Promise<string[]> {
  const list = async (...args: string[]) => (await docker(folder, args)).split('\n').filter(Boolean).toSorted()
  const ofBerth = ['--filter', 'label=berth.mark', '--format']
  const containers = await list('ps', '-a', ...ofBerth, printedContainer)
  const networks = await list('network', 'ls', ...ofBerth, printedNetwork)
  const rows = await sql(
    `SELECT i.id || ' ' || e.mark AS name, i.status = 'running' AS runs, 'berth-' || e.mark || '-account-' || account_id AS network
    FROM instances i JOIN engines e ON e.machine_id = i.machine_id WHERE destroyed_at IS NULL`,
  )
  const expected = new Set(rows.filter(({ runs }) => runs).map(({ name }) => `${name} running`))
  const up = containers.filter(line => line.endsWith(' running'))
  const nameOf = (line: string) => line.split(' ').slice(0, 2).join(' ')
  const living = new Map(rows.map(({ name, network }) => [name, network]))
  const used = new Set(containers.map(line => living.get(nameOf(line))))
  return [
    ...[...expected].filter(line => !up.includes(line)).map(line => `missing: ${line}`),
    ...up.filter(line => !expected.has(line)).map(line => `should not run: ${line}`),
    ...containers.filter(line => !living.has(nameOf(line))).map(line => `left over: ${line}`),
    ...repeated(containers.map(nameOf)).map(name => `twice: ${name}`),
    ...networks.filter(name => !used.has(name)).map(name => `left over: ${name}`),
    ...repeated(networks).map(name => `twice: ${name}`),
  ]
}

function repeated(names: string[]): string[] {
  return names.filter((name, place) => names.indexOf(name) !== place)
}
