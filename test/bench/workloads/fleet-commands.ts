// Commands to all 64 instances of an account at once.

import type pg from 'pg'
import type { HttpRequest } from '../measure/connection.ts'
import type { Fleet } from './fleets.ts'
import { floorRequest, graphqlRequest } from './requests.ts'
import { defineWorkload, endless, type Workload } from './workload.ts'

const expectsAll = '"succeededCount":64'

const labelQuery = `mutation ($ids: [ID!]!, $label: String!) {
  updateInstances(input: {target: {ids: $ids}, label: $label}) { ... on UpdateInstancesSuccess { succeededCount } }
}`
const peerLabelQuery = `mutation ($account: Int!, $ids: [BigInt!]!, $label: String!) {
  peerLabelInstances(input: {ownerId: $account, ids: $ids, newLabel: $label}) { result }
}`

export type Labeling = Fleet & { label: string }

export function labelRequest({ account, ...input }: Labeling): HttpRequest {
  return graphqlRequest(labelQuery, input, account)
}

export function labelWorkload(client: pg.Client, fleets: Fleet[]): Workload {
  let labels = 0
  const rows = async (_answer: unknown, { ids, label }: Labeling) => {
    return (await client.query('SELECT bench.trace_of_labels($1, $2) AS trace', [ids, label])).rows[0].trace
  }
  return defineWorkload<Labeling>({
    id: 'W4',
    title: 'label 64 instances',
    // Each label is new, since the same label again writes nothing.
    inputs: () => endless(index => ({ ...(fleets[index % fleets.length] as Fleet), label: `label ${++labels}` })),
    ways: {
      Berth: { request: labelRequest, rows, expects: expectsAll },
      PostGraphile: { request: input => graphqlRequest(peerLabelQuery, input), rows, expects: '"result":64' },
      floor: {
        request: ({ account, ids, label }) => floorRequest('/label', [account, ids, label]),
        rows,
        expects: '"count":64',
      },
    },
  })
}

type Target = Fleet & { state: 'running' | 'stopped' }

const targetQuery = (field: string, type: string) => `mutation ($ids: [ID!]!) {
  ${field}(input: {target: {ids: $ids}}) { ... on ${type} { succeededCount } }
}`
const berthQueries = {
  running: targetQuery('startInstances', 'StartInstancesSuccess'),
  stopped: targetQuery('stopInstances', 'StopInstancesSuccess'),
}
const peerTargetQuery = `mutation ($account: Int!, $ids: [BigInt!]!, $state: TargetState!) {
  peerSetTargetState(input: {ownerId: $account, ids: $ids, newState: $state}) { result }
}`

/** A run stops every fleet and then starts every fleet, if there is time. More would be starts that are given up. */
export function targetWorkload(client: pg.Client, fleets: Fleet[]): Workload {
  const rows = async (_answer: unknown, { ids }: Target) => {
    return (await client.query('SELECT bench.trace_of_targets($1) AS trace', [ids])).rows[0].trace
  }
  return defineWorkload<Target>({
    id: 'W5',
    title: 'stop or start 64 instances',
    *inputs() {
      for (const fleet of fleets) yield { ...fleet, state: 'stopped' }
      for (const fleet of fleets) yield { ...fleet, state: 'running' }
    },
    ways: {
      Berth: {
        request: ({ account, ids, state }) => graphqlRequest(berthQueries[state], { ids }, account),
        rows,
        expects: expectsAll,
      },
      PostGraphile: {
        request: input => graphqlRequest(peerTargetQuery, input),
        rows,
        expects: '"result":',
      },
      floor: {
        request: ({ account, ids, state }) => floorRequest('/target-state', [account, ids, state]),
        rows,
        expects: '"count":',
      },
    },
    restore: async () => void (await client.query('SELECT bench.restore_fleets()')),
  })
}
