// The example in docs/graphql.md shows the body of this function.

import type { createTypedClient } from '../support/typed-client.ts'
import { RentDocument } from './generated.ts'

type Choice = { offerId: string; hashId: string; volumeId: string }

export async function rentAtBid(ask: ReturnType<typeof createTypedClient>, { offerId, hashId, volumeId }: Choice) {
  const { rentInstance } = await ask(RentDocument, {
    input: {
      offerId,
      terms: { interruptible: { bidPerHour: '0.25' } },
      spec: { source: { template: { by: { hashId } } }, volumes: [{ source: { volumeId } }] },
    },
  })
  if (rentInstance?.__typename === 'RentInstanceSuccess') return rentInstance.instance.id
  if (rentInstance?.__typename === 'BidTooLowError')
    throw new Error(`Bid at least ${rentInstance.hostMinimumBidPerHour}.`)
  throw new Error(rentInstance?.message)
}
