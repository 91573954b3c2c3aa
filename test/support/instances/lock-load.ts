// Writers that run every command that takes several locks, on the same few machines and accounts.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { InstanceStatus } from '../../../src/domain/instances/states.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { creditSql } from '../billing/credit-sql.ts'
import { performDueBilling } from '../billing/due.ts'
import { listMachines } from '../factories.ts'
import type { Gateway } from '../gateways.ts'

const machineCount = 6
/** Most instances of a bulk command: on all machines, and of one account. */
const bulkSize = 24
const creditNanos = 100_000_000_000_000n

type Offer = { id: bigint; bidNanos: bigint }
type Command = (gateway: Gateway, actor: Actor, ids: bigint[], offer: Offer) => Promise<unknown>

/** The commands by name. `ids` are instances of the actor, in no order. */
const commands: Record<string, Command> = {
  rent: (gateway, actor, _ids, { id }) => gateway.rent(actor, id),
  bid: (gateway, actor, _ids, { id, bidNanos }) =>
    gateway.rent(actor, id, { terms: { interruptible: true, bidNanos: bidNanos + 1_000_000n } }),
  stopMany: ({ services }, actor, ids) => services.instances.update(actor, { ids }, { targetState: 'stopped' }),
  outbid: (gateway, actor, _ids, { id, bidNanos }) =>
    gateway.rent(actor, id, { terms: { interruptible: true, bidNanos: bidNanos * 2n } }),
  startMany: ({ services }, actor, ids) => services.instances.update(actor, { ids }, { targetState: 'running' }),
  changeBid: ({ services }, actor, [id = 0n], { bidNanos }) => services.instances.updateBid(actor, id, bidNanos),
  labelMany: ({ services }, actor, ids) => services.instances.update(actor, { ids }, { label: `label ${ids[0]}` }),
  stopByFilter: ({ services }, actor) =>
    services.instances.update(actor, { filter: { status: ['running'] } }, { targetState: 'stopped' }),
  startByFilter: ({ services }, actor) =>
    services.instances.update(actor, { filter: { status: ['stopped'] } }, { targetState: 'running' }),
  // Only one that runs can be rebooted, and few do at a time.
  reboot: async (gateway, actor) => {
    let [id] = await pickInstances(gateway, actor, 'running')
    for (let tries = 0; tries < 20 && id === undefined; tries += 1) {
      await sleep(10)
      ;[id] = await pickInstances(gateway, actor, 'running')
    }
    await gateway.services.instances.reboot(actor, id ?? 0n)
  },
  setPolicy: ({ services }, actor, [id = 0n]) =>
    services.instances.updatePolicy(actor, id, { destroyStoppedSeconds: 3_600 }),
  destroyMany: ({ services }, actor, ids) => services.instances.destroy(actor, { ids: ids.slice(0, 6) }),
  drain: async ({ operations }, _actor, ids) => {
    const machineId = 1 + (ids.length % machineCount)
    await operations.machines.drain(machineId)
    await operations.machines.resume(machineId)
  },
  endCredit: async (gateway, { accountId }) => {
    const [account] = await gateway.sql('SELECT email, posted_nanos FROM accounts WHERE id = $1', [accountId])
    const [email, posted] = [account?.['email'] as string, BigInt(account?.['posted_nanos'] as string)]
    const { accounts } = gateway.operations
    await accounts.adjustCredit(email, { amountNanos: -posted, reason: 'a test' })
    await performDueBilling(gateway, accountId)
    await accounts.grantCredit(email, { amountNanos: creditNanos })
  },
}

/** Runs the writers and the reconcilers of the gateways until the end. Returns how often each command succeeded. */
export async function runLockLoad(gateways: readonly Gateway[], writers: number, end: number) {
  const [first] = gateways as [Gateway]
  await listMachines(
    first.operations,
    Array.from({ length: machineCount }, (_, index) => ({
      machine: { numGpus: 8, publicIp: `198.18.1.${index + 1}` },
    })),
  )
  const actors = [await first.newActor(), await first.newActor(), await first.newActor()]
  for (const { accountId } of actors) {
    await first.sql(withoutQuotasSql(accountId))
    await first.sql(creditSql(creditNanos, `id = ${accountId}`))
  }
  const names = Object.keys(commands)
  const succeeded = new Map(names.map(name => [name, 0]))

  async function write(index: number): Promise<void> {
    const gateway = gateways[index % gateways.length] as Gateway
    for (let turn = index; Date.now() < end; turn += 1) {
      const name = names[turn % names.length] as string
      const actor = actors[Math.floor(Math.random() * actors.length)] as Actor
      try {
        await (commands[name] as Command)(gateway, actor, await pickInstances(gateway, actor), await pickOffer(gateway))
        succeeded.set(name, (succeeded.get(name) ?? 0) + 1)
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
      }
    }
  }

  const reconcile = async (gateway: Gateway) => {
    while (Date.now() < end) await gateway.idle()
  }
  await Promise.all([...Array.from({ length: writers }, (_, index) => write(index)), ...gateways.map(reconcile)])
  return succeeded
}

async function pickInstances(gateway: Gateway, { accountId }: Actor, status?: InstanceStatus): Promise<bigint[]> {
  const text = `SELECT id FROM instances WHERE account_id = $1 AND destroyed_at IS NULL
    AND ($3::text IS NULL OR status::text = $3) ORDER BY random() LIMIT $2`
  return (await gateway.sql(text, [accountId, bulkSize, status])).map(({ id }) => BigInt(id as string))
}

async function pickOffer(gateway: Gateway): Promise<Offer> {
  const [offer] = await gateway.sql('SELECT id, min_bid_nanos FROM offers WHERE rentable ORDER BY random() LIMIT 1')
  return { id: BigInt((offer?.['id'] as string) ?? 0), bidNanos: BigInt((offer?.['min_bid_nanos'] as string) ?? 0) }
}
