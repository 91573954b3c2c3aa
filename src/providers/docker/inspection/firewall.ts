// Tries what renters could reach from their containers: the host itself, and the metadata service of a cloud. A container that is
// made for this, of the toolbox alone, is on a bridge that is named as theirs are.

import type { Engine } from '../../../domain/machines/engines.ts'
import { connectEngine, type EngineClient } from '../engine/client.ts'
import { bridgeName } from '../names.ts'
import { timeoutMs, withProbe } from './probe.ts'

/** What the container ends with, added up. */
const reached = { host: 1, metadata: 2 }

/** A port without a server answers, too, unless the firewall drops what comes from containers. */
const script = `b=/.berth/bin/busybox
gateway=$($b ip route | $b sed -n 's/^default via \\([^ ]*\\).*/\\1/p')
[ -n "$gateway" ] || exit 100
code=0
if answer=$($b nc -w 3 "$gateway" 1 </dev/null 2>&1) || [ "\${answer%refused}" != "$answer" ]; then code=${reached.host}; fi
if printf 'GET / HTTP/1.0\\r\\n\\r\\n' | $b nc -w 3 169.254.169.254 80 2>&1 | $b grep -q '^HTTP'; then
  code=$((code + ${reached.metadata}))
fi
exit $code`

/** Warnings for the operator, if the rules of docs/hosts.md are missing. */
export async function findFirewallGaps(
  engine: Pick<Engine, 'url' | 'tls'>,
  readToolbox: () => Promise<Buffer>,
): Promise<string[]> {
  try {
    const code = await runProbe(await connectEngine(engine, AbortSignal.timeout(timeoutMs)), await readToolbox())
    if (code > reached.host + reached.metadata) throw new Error(`The container of the check ended with ${code}.`)
    const gaps = [code & reached.host && 'their host', code & reached.metadata && 'the metadata service of its cloud']
    return gaps.flatMap(gap =>
      gap
        ? [`Containers reach ${gap}. Set the rules of iptables that docs/hosts.md has, before you let others rent.`]
        : [],
    )
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [`Whether containers reach their host was not checked: ${why}`]
  }
}

async function runProbe(client: EngineClient, toolbox: Buffer): Promise<number> {
  return await withProbe(client, toolbox, async (name, signal) => {
    const call = (path: string, json: object) => client.call('POST', path, { json, signal })
    const Options = { 'com.docker.network.bridge.name': bridgeName(name) }
    await call('/networks/create', { Name: name, Driver: 'bridge', Options })
    await client.call('POST', '/containers/create', { query: { name }, json: containerOf(name), signal })
    await call(`/containers/${name}/start`, {})
    const waiting = { signal, deadlineMs: timeoutMs }
    return (await client.call<{ StatusCode: number }>('POST', `/containers/${name}/wait`, waiting)).StatusCode
  })
}

function containerOf(name: string) {
  return {
    Image: `${name}:1`,
    Entrypoint: ['/.berth/bin/busybox', 'sh', '-c', script],
    HostConfig: { NetworkMode: name, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], PidsLimit: 64 },
  }
}
