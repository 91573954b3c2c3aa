// The containers of an account share a network. The engine lets no traffic pass between networks.

import { listContainers } from './container.ts'
import { EngineError } from './engine/error.ts'
import type { Machine } from './machine.ts'
import { labelFilter, labels, networkName } from './names.ts'

type Network = { Id: string; Name: string }

/** Two gateways can make a network of the same name, which no container could then be attached to: one is removed. */
export async function ensureNetwork(
  { client, engine }: Machine,
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  const find = () =>
    client.call<Network[]>('GET', '/networks', {
      ...{ query: { filters: labelFilter(engine, { [labels.account]: accountId }) }, signal },
    })
  if ((await find()).length === 0) {
    const Labels = { [labels.mark]: engine.mark, [labels.account]: accountId }
    const json = { Name: networkName(engine, accountId), Driver: 'bridge', CheckDuplicate: true, Labels }
    await client.call('POST', '/networks/create', { json, signal }).catch(unless(409))
  }
  const [, ...extra] = (await find()).toSorted((a, b) => (a.Id < b.Id ? -1 : 1))
  for (const { Id } of extra) await client.call('DELETE', `/networks/${Id}`, { signal }).catch(unless(403, 404))
}

/** An engine has few address ranges, so that a network goes with its last container. */
export async function removeUnusedNetwork(machine: Machine, accountId: string, signal: AbortSignal): Promise<void> {
  if ((await listContainers(machine, { [labels.account]: accountId }, signal)).length > 0) return
  const path = `/networks/${networkName(machine.engine, accountId)}`
  await machine.client.call('DELETE', path, { signal }).catch(unless(403, 404))
}

/** Ignores an answer with one of these statuses. */
function unless(...statuses: number[]): (error: unknown) => void {
  return error => {
    if (!(error instanceof EngineError && statuses.includes(error.status))) throw error
  }
}
