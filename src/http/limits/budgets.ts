// Who pays for a request: budgets of points, one for each holder of a kind.

import { type Actor, anonymousActor, isInstanceKey } from '../../domain/actor.ts'
import { customerNetworkOf, networkOf } from '../address-limits.ts'
import type { Client } from '../client.ts'
import { type Buckets, createBuckets } from './buckets.ts'
import { limitRules } from './points.ts'

/** Points that one holder has. */
export type Budget = {
  /** As the headers and the messages name it. */
  name: 'key' | 'account' | 'host' | Keyless | NetworkName
  capacity: number
  perSecond: number
  level(): number
  waitMs(points: number): number
  take(points: number): void
}

/** An address without a valid key: as anybody, as somebody who watches the gateway, or who tries keys. */
export type Keyless = 'address' | 'probes' | 'guesses'
type NetworkName = 'network' | 'network-probes' | 'network-guesses'

export type Budgets = {
  ofActor(actor: Actor, client: Client): Budget[]
  /** `secret`: a digest of the host's key, or of the token with which it is to join. */
  ofHost(secret: string): Budget
  /** Two for an IPv6 address: its own, and that of all addresses of the customer. */
  ofAddress(purpose: Keyless, client: Client): Budget[]
}

export function createBudgets(keyPointsPerSecond: number, nowMs: () => number): Budgets {
  const { windowSeconds, keysPerAccount, hostPointsPerSecond } = limitRules
  const { addressPointsPerSecond, probePointsPerSecond, guessesPerSecond, addressesPerNetwork } = limitRules
  const create = <Holder>(perSecond: number) =>
    createBuckets<Holder>({ perSecond, capacity: perSecond * windowSeconds }, nowMs)
  const keys = create<number>(keyPointsPerSecond)
  const accounts = create<number>(keyPointsPerSecond * keysPerAccount)
  const hosts = create<string>(hostPointsPerSecond)
  const createKeyless = (network: NetworkName, perSecond: number) => ({
    own: create<string>(perSecond),
    shared: { name: network, buckets: create<string>(perSecond * addressesPerNetwork) },
  })
  const keyless = {
    address: createKeyless('network', addressPointsPerSecond),
    probes: createKeyless('network-probes', probePointsPerSecond),
    guesses: createKeyless('network-guesses', guessesPerSecond),
  }

  function ofAddress(purpose: Keyless, { address }: Client): Budget[] {
    const { own, shared } = keyless[purpose]
    const [network, customer] = [networkOf(address), customerNetworkOf(address)]
    const budget = budgetOf(purpose, own, network)
    return customer === network ? [budget] : [budget, budgetOf(shared.name, shared.buckets, customer)]
  }

  return {
    ofAddress,
    ofHost: secret => budgetOf('host', hosts, secret),
    ofActor(actor, client) {
      if (actor === anonymousActor) return ofAddress('address', client)
      // What runs in a container must not use up the points of the key that rented it.
      const holder = isInstanceKey(actor) ? -actor.apiKeyId : actor.apiKeyId
      return [budgetOf('key', keys, holder), budgetOf('account', accounts, actor.accountId)]
    },
  }
}

function budgetOf<Holder>(name: Budget['name'], buckets: Buckets<Holder>, holder: Holder): Budget {
  return {
    name,
    capacity: buckets.capacity,
    perSecond: buckets.perSecond,
    level: () => buckets.levelOf(holder),
    waitMs: points => buckets.waitMs(holder, points),
    take: points => buckets.take(holder, points),
  }
}
