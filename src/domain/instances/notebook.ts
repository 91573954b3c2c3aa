// Notebooks through the gateway. Each instance has a host name of its own, so that browsers keep the notebook of one
// renter apart from those of others, and from the gateway.

import { maxId } from '../ids.ts'
import type { EnvVar } from '../launch/env.ts'
import type { LaunchMode } from '../launch/launch.ts'

/** Where renters reach notebooks. `host` has a port unless it is the protocol's own. */
export type NotebookProxy = { protocol: 'http' | 'https'; host: string }

/** The port on which a notebook listens in its container. */
export const notebookPort = 8080
export const notebookModes = ['jupyterDirect', 'jupyterProxy'] as const satisfies LaunchMode[]
const notebookTokenName = 'JUPYTER_TOKEN'

/** The address of an instance's notebook, such as `http://ins-42.localhost:8888`. */
export function notebookOrigin({ protocol, host }: NotebookProxy, instanceId: bigint): string {
  return `${protocol}://${notebookLabel(instanceId)}.${host}`
}

/** Underscores are not allowed in host names, so an id has a dash here. */
function notebookLabel(instanceId: bigint): string {
  return `ins-${instanceId}`
}

/** The instance that a Host header names. Undefined if it names none, or another service. Its port does not matter. */
export function parseNotebookHost(header: string, { host }: NotebookProxy): bigint | undefined {
  const base = nameOf(host)
  const name = nameOf(header)
  if (!name.endsWith(`.${base}`)) return undefined
  const [, digits] = /^ins-([1-9]\d{0,18})$/.exec(name.slice(0, -base.length - 1)) ?? []
  const id = digits === undefined ? undefined : BigInt(digits)
  return id !== undefined && id <= maxId ? id : undefined
}

/** Without a port, and without the dot that may end a complete name. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}

/** The variable that a renter sets decides. Empty is as good as absent: a notebook without a token is open to all. */
export function notebookTokenOf(env: readonly EnvVar[], ownToken: string): string {
  return env.find(({ name }) => name === notebookTokenName)?.value || ownToken
}

/** The environment of a container, with the token of its notebook if it has one. */
export function withNotebookToken(mode: LaunchMode, env: EnvVar[], ownToken: string): EnvVar[] {
  if (mode !== 'jupyterDirect' && mode !== 'jupyterProxy') return env
  const token = { name: notebookTokenName, value: notebookTokenOf(env, ownToken), secret: true as const }
  return [...env.filter(({ name }) => name !== notebookTokenName), token]
}
