// The configurations of docs/high-availability.md, with the addresses of a test.

import { join } from 'node:path'
import { blocksOf, readPage } from '../docs.ts'
import { postgresBin } from './programs.ts'

export const passwords = { superuser: 'secret-of-postgres', replicator: 'secret-of-replicator' }

/** A database server: where PostgreSQL and Patroni listen, and where the other servers reach PostgreSQL. */
export type NodeAddresses = { name: string; port: number; restPort: number; publicPort: number }
export type HaproxyPorts = { primary: number; replicas: number }

const page = () => readPage('docs/high-availability.md')

/** Replaces a text that must be there. */
function put(text: string, old: string, replacement: string): string {
  if (!text.includes(old)) throw new Error(`docs/high-availability.md has no "${old}" in this place.`)
  return text.replaceAll(old, replacement)
}

export function patroniConfiguration(
  { name, port, restPort, publicPort }: NodeAddresses,
  { folder, etcdPort, synchronous }: { folder: string; etcdPort: number; synchronous: boolean },
): string {
  const replacements = [
    ['name: db-1', `name: ${name}`],
    ['db-1.example.com:8008', `127.0.0.1:${restPort}`],
    ['etcd-1.example.com:2379', `127.0.0.1:${etcdPort}`],
    ['connect_address: db-1.example.com:5432', `connect_address: 127.0.0.1:${publicPort}`],
    ['listen: db-1.example.com:5432', `listen: 127.0.0.1:${port}`],
    ['/var/lib/postgresql/15/berth', join(folder, 'data')],
    ['/usr/lib/postgresql/15/bin', postgresBin as string],
    ['SUPERUSER_PASSWORD', passwords.superuser],
    ['REPLICATION_PASSWORD', passwords.replicator],
    // Debian's folder for sockets belongs to another user if the test is not root.
    ['        max_connections: 200\n', `        max_connections: 200\n        unix_socket_directories: ''\n`],
    ...(synchronous
      ? []
      : [
          ['synchronous_mode: true', 'synchronous_mode: false'],
          ['synchronous_mode_strict: true', 'synchronous_mode_strict: false'],
          // A test loses more than a megabyte on purpose.
          ['maximum_lag_on_failover: 1048576', 'maximum_lag_on_failover: 1073741824'],
        ]),
  ] as [string, string][]
  return replacements.reduce((text, [old, now]) => put(text, old, now), blocksOf(page(), 'yaml patroni')[0] ?? '')
}

export function haproxyConfiguration(nodes: NodeAddresses[], { primary, replicas }: HaproxyPorts): string {
  const replacements = [
    ['haproxy.example.com:5000', `127.0.0.1:${primary}`],
    ['haproxy.example.com:5001', `127.0.0.1:${replicas}`],
    ...nodes.map(({ name, port, restPort }) => [
      `${name}.example.com:5432 check port 8008`,
      `127.0.0.1:${port} check port ${restPort}`,
    ]),
  ] as [string, string][]
  return replacements.reduce((text, [old, now]) => put(text, old, now), blocksOf(page(), 'haproxy')[0] ?? '')
}
