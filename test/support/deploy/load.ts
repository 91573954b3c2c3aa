// Renters who search, rent, look and destroy without a pause, through a balancer.

import { setTimeout as sleep } from 'node:timers/promises'
import type { createBalancer } from '../processes/balancer.ts'

type Send = ReturnType<typeof createBalancer>['send']
export type LoadReport = { requests: number; rentals: number; failed: string[] }

const rent = `mutation { rentBestOffer(input: { filter: {}, spec: { source: { image: "ubuntu" } }, terms: { onDemand: { maxPricePerHour: "100" } } }) {
  __typename ... on RentBestOfferSuccess { instance { id } } ... on Error { message } } }`
const look = 'query ($id: ID!) { instance(id: $id) { status } }'
const destroy = `mutation ($id: ID!) { destroyInstance(input: { id: $id }) {
  __typename ... on DestroyInstanceSuccess { instance { status } } ... on Error { message } } }`

/** One renter for each key. A request fails if its status is not 200 or its answer is not what it asks for. */
export function startRenters(send: Send, keys: readonly string[]) {
  const report: LoadReport = { requests: 0, rentals: 0, failed: [] }
  let isOver = false

  async function ask(key: string, what: string, path: string, body: object, expected: RegExp): Promise<string[]> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    report.requests += 1
    const outcome = await send({ method: 'POST', path, headers, body: JSON.stringify(body) }).then(
      ({ status, text }) => `${status} ${text}`,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    )
    const found = expected.exec(outcome)
    if (found) return found
    report.failed.push(`${what}: ${outcome.slice(0, 300)}`)
    await sleep(100)
    return []
  }

  async function renter(key: string): Promise<void> {
    const graphql = (what: string, query: string, expected: RegExp, id?: string) =>
      ask(key, what, '/graphql', { query, variables: { id } }, expected)
    while (!isOver) {
      await ask(key, 'search', '/api/v0/bundles/', { limit: 1 }, /^200 \{"offers":\[\{/)
      const [, id] = await graphql('rent', rent, /^200 .*"RentBestOfferSuccess","instance":\{"id":"(ins_\d+)"/)
      if (id === undefined) continue
      await graphql('look', look, /^200 \{"data":\{"instance":\{"status":"[A-Z]+"\}\}/, id)
      await graphql('destroy', destroy, /^200 .*"DestroyInstanceSuccess","instance":\{"status":"DESTROYED"/, id)
      report.rentals += 1
    }
  }

  const renters = keys.map(renter)
  return {
    async stop(): Promise<LoadReport> {
      isOver = true
      await Promise.all(renters)
      return report
    },
    soFar: (): number => report.requests,
  }
}
