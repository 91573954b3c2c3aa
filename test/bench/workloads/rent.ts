import type pg from 'pg'
import { floorRequest, graphqlRequest, numberOfId } from './requests.ts'
import { defineWorkload, type Workload } from './workload.ts'

const image = 'ubuntu'

const berthQuery = `mutation ($offerId: ID!) {
  rentInstance(input: {offerId: $offerId, spec: {source: {image: "${image}"}}}) { ... on RentInstanceSuccess { instance { id } } }
}`
const peerQuery = `mutation ($renterId: Int!, $offerId: BigInt!) {
  peerRentOffer(input: {renterId: $renterId, wantedId: $offerId, image: "${image}"}) { result { rowId } }
}`

type Rent = { account: number; offerId: number }

/** Accounts that have no instances at first. */
const renters = { first: 101, count: 100 }

/**
 * Rentals. Each offer can be rented once, so a run ends when its share of the offers is rented: `runs` is the number of runs
 * that must share them.
 */
export async function rentWorkload(client: pg.Client, runs: number): Promise<Workload> {
  const { rows } = await client.query(
    `SELECT o.id::int AS id FROM offers o JOIN machines m ON m.id = o.machine_id
     WHERE o.rentable AND o.leads AND o.num_gpus = m.num_gpus
     AND m.id NOT IN (SELECT machine_id FROM instances) ORDER BY bench.share('offer to rent', o.id)`,
  )
  const offerIds: number[] = rows.map(({ id }) => id)
  const share = Math.floor(offerIds.length / runs)
  return defineWorkload<Rent>({
    id: 'W3',
    title: 'rent an offer',
    *inputs() {
      const mine = offerIds.splice(0, share)
      for (const [index, offerId] of mine.entries()) yield { account: renters.first + (index % renters.count), offerId }
    },
    ways: {
      Berth: {
        request: ({ account, offerId }) => graphqlRequest(berthQuery, { offerId: String(offerId) }, account),
        rows: (answer: { data: { rentInstance: { instance: { id: string } } } }) =>
          traceOf(numberOfId(answer.data.rentInstance.instance.id)),
        expects: '"instance":{"id":"ins_',
      },
      PostGraphile: {
        request: ({ account, offerId }) => graphqlRequest(peerQuery, { renterId: account, offerId: String(offerId) }),
        rows: (answer: { data: { peerRentOffer: { result: { rowId: string } } } }) =>
          traceOf(Number(answer.data.peerRentOffer.result.rowId)),
        expects: '"result":{"rowId":"',
      },
      floor: {
        request: ({ account, offerId }) => floorRequest('/rent', [account, offerId, image]),
        rows: (answer: { id: number }) => traceOf(answer.id),
        expects: '{"id":',
      },
    },
  })

  async function traceOf(id: number) {
    const { rows } = await client.query('SELECT bench.trace_of_rental($1) AS trace', [id])
    return rows[0].trace
  }
}
