// What a gateway that is ready says on standard output, which is for people.

import type { AddressInfo } from 'node:net'
import type { SshProxy } from './domain/instances/instances.ts'
import type { NotebookProxy } from './domain/instances/notebook.ts'

export type Greeting = {
  version: string
  graphiql: boolean
  /** Whether a person reads this now. Otherwise it may be kept as a log, which must have no key. */
  isTerminal: boolean
  demoKey: string | undefined
  demoKeyFile: string | undefined
  /** Whether there is an account, so that somebody can use the gateway. */
  hasAccounts: boolean
  sshProxy: SshProxy | null
  /** The fingerprint of the gateway's own SSH server. */
  hostKey: string | undefined
  notebookProxy: NotebookProxy | null
}

/** Names the gateway's URLs. */
export function greet({ address, family, port }: AddressInfo, greeting: Greeting): string {
  const { version, graphiql, demoKey, demoKeyFile, hasAccounts, sshProxy, hostKey, notebookProxy } = greeting
  const host = address === '::' || address === '0.0.0.0' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const page = `http://${host}:${port}/graphql`
  const lines = [`GraphQL   ${page}`]
  if (graphiql) lines.push(`GraphiQL  ${demoKey === undefined ? page : linkOf(page, demoKey, greeting)}`)
  lines.push(`REST      http://${host}:${port}/api/v0/`, `REST docs http://${host}:${port}/api/v0/docs/`)
  if (sshProxy && hostKey)
    lines.push(`SSH       ssh -p ${sshProxy.port} ins_ID@${sshProxy.host}`, `          (host key ${hostKey})`)
  if (notebookProxy) lines.push(`Notebooks ${notebookProxy.protocol}://ins-ID.${notebookProxy.host}/`)
  if (demoKey !== undefined) lines.push(`Demo key  in ${demoKeyFile}`, `Shell     KEY=$(cat '${demoKeyFile}')`)
  if (!hasAccounts) lines.push(...firstAccount)
  return `Berth ${version} is ready.\n\n${lines.map(line => `  ${line}\n`).join('')}\n`
}

const firstAccount = [
  'Account   There is none yet. With the settings of this gateway, this makes one and prints its API key:',
  '          npm run --silent berth -- account create --email you@example.com --name You --credit 100',
]

/** The link carries the demo key in its fragment, which browsers send to nobody. What is no terminal gets a command for it. */
function linkOf(page: string, key: string, { isTerminal, demoKeyFile }: Greeting): string {
  return isTerminal ? `${page}#key=${key}` : `echo "${page}#key=$(cat '${demoKeyFile}')"`
}
