// The configurations under docs/proxies, with the names, addresses and files of a test.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type ProxyKind = 'nginx' | 'caddy'

export type ProxyPlaces = {
  folder: string
  certificate: string
  key: string
  /** The ports of the proxy, of the two gateways, and of their notebooks. */
  ports: { https: number; http: number; gateways: [number, number]; notebooks: number }
}

type Replacement = readonly [example: string, own: string]

const folder = join(import.meta.dirname, '../../../docs/proxies')

export function nginxConfiguration(places: ProxyPlaces): string {
  const { folder: own, ports } = places
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${join(own, name)};`,
  )
  return replaceAll('nginx.conf', [
    ['http {\n', `http {\n${temporary.join('\n')}\n`],
    ['/run/nginx.pid', join(own, 'nginx.pid')],
    ['/var/log/nginx/error.log', join(own, 'error.log')],
    ['listen 80 default_server', `listen 127.0.0.1:${ports.http} default_server`],
    ['listen 443 ssl', `listen 127.0.0.1:${ports.https} ssl`],
    ['server_name berth.example.com', 'server_name localhost'],
    ['server_name *.notebooks.example.com', 'server_name *.notebooks.localhost'],
    ...certificateFiles(places, ['berth.example.com', 'notebooks.example.com']),
    ...addresses(ports),
  ])
}

export function caddyConfiguration(places: ProxyPlaces): string {
  const { certificate, key, ports } = places
  const site = replaceAll('Caddyfile', [
    ['*.notebooks.example.com {', `*.notebooks.localhost:${ports.https} {`],
    ...certificateFiles(places, ['notebooks.example.com']),
    ['\nberth.example.com {\n', `\nlocalhost:${ports.https} {\ntls ${certificate} ${key}\n`],
    ...addresses(ports),
  ])
  return `{\nadmin off\nauto_https disable_redirects\n}\n${site}`
}

function certificateFiles({ certificate, key }: ProxyPlaces, names: string[]): Replacement[] {
  return names.flatMap((name): Replacement[] => [
    [`/etc/ssl/berth/${name}.crt`, certificate],
    [`/etc/ssl/berth/${name}.key`, key],
  ])
}

function addresses({ gateways, notebooks }: ProxyPlaces['ports']): Replacement[] {
  return [
    ...gateways.map((port, index): Replacement => [`gateway-${index + 1}.example.com:4000`, `127.0.0.1:${port}`]),
    ...gateways.map((_, index): Replacement => [`gateway-${index + 1}.example.com:8888`, `127.0.0.1:${notebooks}`]),
  ]
}

function replaceAll(file: string, replacements: readonly Replacement[]): string {
  return replacements.reduce(
    (text, [example, own]) => {
      if (!text.includes(example)) throw new Error(`docs/proxies/${file} has no "${example}".`)
      return text.replaceAll(example, own)
    },
    readFileSync(join(folder, file), 'utf8'),
  )
}
