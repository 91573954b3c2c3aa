import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The settings of the machine's network that an engine changes. */
export type NetworkSettings = { forwardPolicy: string; ipForward: string }

/** Reads the settings, or throws if an engine already runs here: a second one would break the bridge of the first. */
export async function readNetwork(): Promise<NetworkSettings> {
  const { stdout } = await run('iptables', ['-S'])
  if (/^-N DOCKER$/m.test(stdout)) throw new Error('Another Docker Engine uses the network of this machine.')
  const ipForward = await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')
  return { forwardPolicy: /^-P FORWARD (\w+)$/m.exec(stdout)?.[1] ?? 'ACCEPT', ipForward: ipForward.trim() }
}

/** Removes the engine's bridges, rules and chains. */
export async function resetNetwork({ forwardPolicy, ipForward }: NetworkSettings): Promise<void> {
  await run(join(import.meta.dirname, 'reset-network.sh'), [forwardPolicy, ipForward])
}
