import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import type { MachineListing } from '../factories.ts'
import type { Rentals } from './rentals.ts'

export type Policy = {
  stopAt?: string | null
  stopAtCost?: string | null
  destroyAt?: string | null
  destroyAfterStoppedSeconds?: number | null
  stopWhenIdle?: { gpuBelowPercent: number; forSeconds: number } | null
}

export const policyFields = `id status targetState statusReason { code message }
  policy { stopAt stopAtCost destroyAt destroyAfterStoppedSeconds stopWhenIdle { gpuBelowPercent forSeconds } }`
const errorFields = '... on Error { code message } ... on InvalidInputError { issues { path message } }'

/** Policies of instances over GraphQL. The GPU of a machine costs $0.40 an hour, and the disk $0.004. */
export function policiesOf(app: TestApp, rentals: Rentals, key: () => string) {
  async function ask(name: string, type: string, input: object, success: string) {
    const query = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename ${errorFields} ${success} } }`
    const { data, errors } = await app.graphql(key(), query, { input })
    return errors ? { code: errors[0]?.extensions['code'], message: errors[0]?.message } : data[name]
  }

  /** Requests a rental on a new machine. */
  async function tryRent(policy: Policy, input: object = {}, machine: MachineListing['machine'] = {}) {
    const offerId = String(await rentals.newOffer(machine))
    const rentInput = { offerId, spec: { source: { image: 'ubuntu' }, policy }, ...input }
    const success = `... on RentInstanceSuccess { warnings replayed instance { ${policyFields} } }`
    return await ask('rentInstance', 'RentInstanceInput', rentInput, success)
  }

  async function rent(
    policy: Policy = {},
    input: object = {},
    machine: MachineListing['machine'] = {},
  ): Promise<number> {
    const answer = await tryRent(policy, input, machine)
    expect(answer).toMatchObject({ __typename: 'RentInstanceSuccess' })
    return Number(answer.instance.id.slice('ins_'.length))
  }

  /** Rents, and waits until the instance runs and its GPUs cost something. */
  async function rentRunning(
    policy: Policy = {},
    input: object = {},
    machine: MachineListing['machine'] = {},
  ): Promise<number> {
    const id = await rent(policy, input, machine)
    for (let turn = 1; turn <= 100 && (await read(id)).status !== 'RUNNING'; turn += 1) {
      app.clock.advance(1_000)
      await app.runUntilIdle()
    }
    expect((await read(id)).status).toBe('RUNNING')
    return id
  }

  const setPolicy = (id: number, policy: Policy) =>
    ask(
      'updateInstancePolicy',
      'UpdateInstancePolicyInput',
      { id: String(id), ...policy },
      `... on UpdateInstancePolicySuccess { instance { ${policyFields} } }`,
    )

  const setTargetState = (id: number, targetState: string) =>
    ask(
      targetState === 'RUNNING' ? 'startInstance' : 'stopInstance',
      targetState === 'RUNNING' ? 'StartInstanceInput' : 'StopInstanceInput',
      { id: String(id) },
      `... on ${targetState === 'RUNNING' ? 'Start' : 'Stop'}InstanceSuccess { instance { ${policyFields} } }`,
    )

  async function read(id: number) {
    return (await app.graphql(key(), `{ instance(id: ${id}) { ${policyFields} } }`)).data.instance
  }

  /** The charges of an instance in the ledger: nano-dollars, and the period that they cover. */
  async function charged(id: number, kind: 'gpu' | 'disk') {
    const [row] = await app.sql(`SELECT coalesce(-sum(e.amount_nanos), 0)::text AS nanos, max(e.period_end) AS until,
      min(e.period_start) AS since FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
      WHERE m.instance_id = ${id} AND m.kind = '${kind}'`)
    const { nanos, until, since } = row as { nanos: string; until: Date | null; since: Date | null }
    return { nanos: BigInt(nanos), until, since }
  }

  async function events(id: number, ...kinds: string[]) {
    return await app.sql(`SELECT kind, reason, api_key_id IS NULL AS by_berth, before, after, created_at FROM events
      WHERE instance_id = ${id} AND kind IN (${kinds.map(kind => `'${kind}'`).join(', ')}) ORDER BY id`)
  }

  return { tryRent, rent, run: rentRunning, set: setPolicy, setTargetState, read, charged, events }
}
