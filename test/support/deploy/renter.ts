// A renter of a gateway that a test has deployed.

import { expect } from 'vitest'

const slowly = { timeout: 120_000, interval: 250 }

export type Renter = ReturnType<typeof createRenter>

export function createRenter(url: string, key: string) {
  const ask = async (query: string, variables: object = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = await answer.json()
    expect(errors).toBeUndefined()
    return data
  }
  const statusOf = async (id: string): Promise<string> =>
    (await ask('query ($id: ID!) { instance(id: $id) { status } }', { id })).instance.status
  return {
    /** Rents the cheapest offer, and returns the id of the instance when it runs. */
    async rent({ image = 'ubuntu', filter = {} } = {}): Promise<string> {
      const { rentBestOffer } = await ask(
        `mutation ($image: String!, $filter: OfferFilter!) {
          rentBestOffer(input: { filter: $filter, spec: { source: { image: $image } }, terms: { onDemand: { maxPricePerHour: "100" } } }) {
            ... on RentBestOfferSuccess { instance { id } } ... on Error { message } } }`,
        { image, filter },
      )
      expect(rentBestOffer).toEqual({ instance: { id: expect.any(String) } })
      const { id } = rentBestOffer.instance
      await expect.poll(() => statusOf(id), slowly).toBe('RUNNING')
      return id
    },
    statusOf,
    destroy: (id: string) => ask('mutation ($id: ID!) { destroyInstance(input: { id: $id }) { __typename } }', { id }),
  }
}

/** Waits until a gateway takes requests. */
export async function untilReady(url: string): Promise<void> {
  const status = () =>
    fetch(`${url}/ready`).then(
      answer => answer.status,
      () => 0,
    )
  await expect.poll(status, slowly).toBe(200)
}
