// The containers of an account share a network. The engine lets no traffic pass between networks.

import { listContainers } from './container.ts'
import { EngineError } from './engine/error.ts'
import type { Machine } from './machine.ts'
import { bridgeName, labelFilter, labels, networkName } from './names.ts'

type Network = { Id: string; Labels: Record<string, string> | null }

export type Networks = ReturnType<typeof createNetworks>

export function createNetworks() {
  /** The last change of each account's network. */
  const changes = new Map<string, Promise<unknown>>()

  /** Runs changes one after the other: the engine would make a second network of the same name. */
  async function inTurn<Value>({ engine }: Machine, accountId: string, change: () => Promise<Value>): Promise<Value> {
    const key = `${engine.url} ${engine.mark} ${accountId}`
    const turn = (changes.get(key) ?? Promise.resolve()).then(change, change)
    changes.set(key, turn)
    try {
      return await turn
    } finally {
      if (changes.get(key) === turn) changes.delete(key)
    }
  }

  return {
    /** Runs `use` while the network is there and is not removed. */
    async use<Value>(
      machine: Machine,
      accountId: string,
      signal: AbortSignal,
      use: () => Promise<Value>,
    ): Promise<Value> {
      return await inTurn(machine, accountId, async () => {
        await ensureNetwork(machine, accountId, signal)
        return await use()
      })
    },
    /**
     * An engine has few address ranges, so that a network goes with its last container. Looks at all accounts: a gateway
     * that died, or a container that could not be made, left a network without one.
     */
    async removeUnused(machine: Machine, signal: AbortSignal): Promise<void> {
      const networks = await listNetworks(machine, {}, signal)
      const used = accountsOf(await listContainers(machine, {}, signal))
      for (const accountId of accountsOf(networks)) {
        if (used.has(accountId)) continue
        await inTurn(machine, accountId, async () => {
          const ofAccount = { [labels.account]: accountId }
          if ((await listContainers(machine, ofAccount, signal)).length > 0) return
          for (const network of await listNetworks(machine, ofAccount, signal)) await remove(machine, network, signal)
        })
      }
    },
  }
}

function accountsOf(found: { Labels: Record<string, string> | null }[]): Set<string> {
  return new Set(found.flatMap(({ Labels }) => Labels?.[labels.account] ?? []))
}

/** Another gateway may make a network of the same name, and then no container can start: all but one are removed. */
async function ensureNetwork(machine: Machine, accountId: string, signal: AbortSignal): Promise<void> {
  const { client, engine } = machine
  const ofAccount = { [labels.account]: accountId }
  if ((await listNetworks(machine, ofAccount, signal)).length === 0) {
    const Labels = { [labels.mark]: engine.mark, ...ofAccount }
    const Name = networkName(engine, accountId)
    const Options = { 'com.docker.network.bridge.name': bridgeName(Name) }
    const json = { Name, Driver: 'bridge', CheckDuplicate: true, Labels, Options }
    // Another gateway was faster: the engine then refuses the name, or the bridge.
    await client.call('POST', '/networks/create', { json, signal }).catch(unless(403, 409))
  }
  const found = await listNetworks(machine, ofAccount, signal)
  const [, ...extra] = found.toSorted((a, b) => (a.Id < b.Id ? -1 : 1))
  for (const network of extra) await remove(machine, network, signal)
}

async function listNetworks(
  { client, engine }: Machine,
  others: Record<string, string>,
  signal: AbortSignal,
): Promise<Network[]> {
  return await client.call<Network[]>('GET', '/networks', { query: { filters: labelFilter(engine, others) }, signal })
}

/** A network that a container uses stays. */
async function remove({ client }: Machine, { Id }: Network, signal: AbortSignal): Promise<void> {
  await client.call('DELETE', `/networks/${Id}`, { signal }).catch(unless(403, 404))
}

/** Ignores an answer with one of these statuses. */
function unless(...statuses: number[]): (error: unknown) => void {
  return error => {
    if (!(error instanceof EngineError && statuses.includes(error.status))) throw error
  }
}
