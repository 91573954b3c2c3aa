// The settings of SSH and of notebooks, which renters reach beside the gateway's own port.

import type { SshProxy } from './domain/instances/instances.ts'
import type { NotebookProxy } from './domain/instances/notebook.ts'
import { isLoopback } from './http/listen.ts'

/** `address`: where renters reach the port, by default at HOST. */
export type SshSettings = { port: number; address: SshProxy | null } | null
/** `proxy`: where renters reach the port, by default on this machine. */
export type NotebookSettings = { port: number; proxy: NotebookProxy | null } | null

type Given = {
  HOST?: string
  SSH_PORT?: number
  SSH_PROXY?: SshProxy
  SSH_PUBLIC_ADDRESS?: SshProxy
  NOTEBOOK_PORT?: number
  NOTEBOOK_PUBLIC_URL?: NotebookProxy
  TRUSTED_PROXIES?: readonly string[]
}

export function sshOf({ SSH_PORT, SSH_PUBLIC_ADDRESS }: Given): SshSettings {
  return SSH_PORT === undefined ? null : { port: SSH_PORT, address: SSH_PUBLIC_ADDRESS ?? null }
}

export function sshProblems({ SSH_PORT, SSH_PROXY, SSH_PUBLIC_ADDRESS, HOST = '' }: Given): string[] {
  if (SSH_PORT === undefined) return SSH_PUBLIC_ADDRESS ? ['SSH_PUBLIC_ADDRESS needs SSH_PORT, which is not set.'] : []
  if (SSH_PROXY)
    return ['SSH_PORT and SSH_PROXY exclude each other: with SSH_PORT, the gateway is the SSH proxy. Set one of them.']
  if (SSH_PUBLIC_ADDRESS || !['0.0.0.0', '::'].includes(HOST)) return []
  return [
    `SSH_PUBLIC_ADDRESS is missing. Renters cannot connect to ${HOST}. Set it to where they reach SSH_PORT, such as ssh.example.com:2222.`,
  ]
}

export function notebooksOf({ NOTEBOOK_PORT, NOTEBOOK_PUBLIC_URL }: Given): NotebookSettings {
  return NOTEBOOK_PORT === undefined ? null : { port: NOTEBOOK_PORT, proxy: NOTEBOOK_PUBLIC_URL ?? null }
}

export function notebookProblems(given: Given): string[] {
  const { NOTEBOOK_PORT, NOTEBOOK_PUBLIC_URL, SSH_PORT, SSH_PROXY, HOST = '127.0.0.1' } = given
  if (NOTEBOOK_PORT === undefined)
    return NOTEBOOK_PUBLIC_URL ? ['NOTEBOOK_PUBLIC_URL needs NOTEBOOK_PORT, which is not set.'] : []
  const problems = []
  if (NOTEBOOK_PUBLIC_URL?.protocol === 'https' && !given.TRUSTED_PROXIES?.length)
    problems.push(
      'TRUSTED_PROXIES is missing. NOTEBOOK_PUBLIC_URL begins with https, so a proxy is in front of the gateway, and limits count clients by the addresses that it reports. Set it to the address of the proxy.',
    )
  if (SSH_PORT === undefined && !SSH_PROXY)
    problems.push(
      'NOTEBOOK_PORT needs SSH_PORT or SSH_PROXY: without an SSH proxy, notebooks get public ports of their machines. Set one of them.',
    )
  if (!NOTEBOOK_PUBLIC_URL && !isLoopback(HOST))
    problems.push(
      `NOTEBOOK_PUBLIC_URL is missing. Only on loopback do browsers find NOTEBOOK_PORT by themselves, and HOST is ${HOST}. Set it to where renters reach the port, such as https://notebooks.example.com.`,
    )
  return problems
}
