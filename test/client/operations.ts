// How a client sends the twelve operations. No field is guessed and no type is asserted: `__typename` tells answers apart, and
// null is a field that could not be answered.

import type { createTypedClient, createTypedStream } from '../support/typed-client.ts'
import {
  ChangeWebhookKindsDocument,
  CreateConstrainedKeyDocument,
  CreateWebhookDocument,
  type EventKind,
  HostedMachinesDocument,
  type InstanceFilter,
  LastLogLinesDocument,
  type OfferFilter,
  QuoteRentalDocument,
  RentBestWithTemplateDocument,
  type RentInstanceInput,
  RentOfferDocument,
  SearchWithFacetsDocument,
  SpendByLabelDocument,
  StopByLabelDocument,
  WatchBidsDocument,
  WatchFleetDocument,
} from './generated.ts'

type Ask = ReturnType<typeof createTypedClient>
type Stream = ReturnType<typeof createTypedStream>

/** 1. The cheapest offers per GPU, and for each GPU model how many there are and from which price. */
export async function searchWithFacets(ask: Ask, filter: OfferFilter) {
  const { offers } = await ask(SearchWithFacetsDocument, { filter, first: 10 })
  const models = offers?.facets?.find(({ field }) => field === 'GPU_NAME')?.values ?? []
  return {
    total: offers?.totalCount ?? 0,
    cheapest: offers?.nodes ?? [],
    models: models.map(({ value, count, minimumPricePerHour }) => `${value}: ${count} from $${minimumPricePerHour}`),
  }
}

/** 2. The price, or the advice of what blocks the rental. */
export async function quote(ask: Ask, input: RentInstanceInput) {
  const { rentQuote } = await ask(QuoteRentalDocument, { input })
  if (rentQuote?.rentable) return { pricePerHour: rentQuote.pricePerHour, waits: rentQuote.waits }
  return {
    blockers: (rentQuote?.blockers ?? []).map(blocker => {
      if (blocker.__typename === 'InsufficientCreditError') return `Add credit: ${blocker.available} is left.`
      if (blocker.__typename === 'InvalidInputError') return blocker.issues.map(({ path }) => path).join()
      return blocker.message
    }),
  }
}

/** 3. The ID of the new instance; of another offer's if this one is taken; or an error that says what to do. */
export async function rent(ask: Ask, input: RentInstanceInput): Promise<string> {
  const { rentInstance: answer } = await ask(RentOfferDocument, { input })
  if (!answer) throw new Error('The rental was not answered.')
  switch (answer.__typename) {
    case 'RentInstanceSuccess':
      return answer.instance.id
    case 'OfferUnavailableError': {
      const [next] = answer.alternatives
      if (answer.yourInstance) return answer.yourInstance.id
      if (next) return await rent(ask, { ...input, offerId: next.id })
      throw new Error(answer.message)
    }
    case 'BidTooLowError':
      throw new Error(`Bid at least ${answer.hostMinimumBidPerHour}.`)
    default:
      throw new Error(answer.retry === 'LATER' ? `Later: ${answer.message}` : answer.message)
  }
}

/** 4. The labels and states of a fleet, once all are known and then after each change of one of its instances. */
export async function* watchFleet(stream: Stream, filter: InstanceFilter) {
  const fleet = new Map<string, string>()
  let isComplete = false
  for await (const { instanceChanges: item } of stream(WatchFleetDocument, { filter })) {
    if (item.__typename === 'InstancesSynced') isComplete = true
    else if (item.kind === 'REMOVED') fleet.delete(item.instanceId)
    else fleet.set(item.instanceId, `${item.instance.label ?? '(none)'}: ${item.instance.status}`)
    if (isComplete) yield [...fleet.values()].toSorted()
  }
}

/** 5. Stops what a dry run has counted, and nothing else. */
export async function stopByLabel(ask: Ask, prefix: string, expectedCount?: number) {
  const dryRun = expectedCount === undefined
  const { stopInstances: answer } = await ask(StopByLabelDocument, { prefix, dryRun, expectedCount })
  if (answer?.__typename === 'StopInstancesSuccess') return answer
  throw new Error(answer?.message)
}

/** 6. The last line of each instance, or why there is none. */
export async function lastLogLines(ask: Ask, filter: InstanceFilter) {
  const { instances } = await ask(LastLogLinesDocument, { filter })
  return (instances?.nodes ?? []).map(({ id, logs }) => {
    const [last] = logs ?? []
    return { id, text: logs === null ? 'The machine is silent.' : last?.text }
  })
}

/** 7. The cost of each label; without a label it is the rest. */
export async function spendByLabel(ask: Ask, startsAt: string, endsAt: string) {
  const { viewer } = await ask(SpendByLabelDocument, { startsAt, endsAt })
  const usage = viewer.account?.usage
  const labels = usage?.totals.map(({ cost, keys: [key] }) => {
    return [(key?.__typename === 'LabelUsageKey' && key.label) || '(none)', cost] satisfies [string, string]
  })
  return { cost: usage?.cost, labels: Object.fromEntries(labels ?? []) }
}

/** 8. The secret of a key that can only change one instance. */
export async function createConstrainedKey(ask: Ask, name: string, instanceId: string, expiresAt: string) {
  const { createApiKey: answer } = await ask(CreateConstrainedKeyDocument, { name, instanceId, expiresAt })
  if (answer?.__typename === 'CreateApiKeySuccess') return answer
  throw new Error(answer?.message)
}

/** 9. The webhook with the secret that signs its deliveries. */
export async function createWebhook(ask: Ask, name: string, url: string, kinds: EventKind[]) {
  const { createWebhook: answer } = await ask(CreateWebhookDocument, { name, url, kinds })
  if (answer?.__typename === 'CreateWebhookSuccess') return answer
  if (answer?.__typename === 'InvalidInputError') throw new Error(answer.issues.map(({ path }) => path).join())
  throw new Error(answer?.message)
}

/** 9. The webhook with other kinds of events, and the same secret. */
export async function changeWebhookKinds(ask: Ask, id: string, kinds: EventKind[]) {
  const { updateWebhook: answer } = await ask(ChangeWebhookKindsDocument, { id, kinds })
  if (answer?.__typename === 'UpdateWebhookSuccess') return answer.webhook
  throw new Error(answer?.message)
}

/** 10. The instance that runs a template of the account. */
export async function rentWithTemplate(ask: Ask, template: string, filter: OfferFilter, maxPricePerHour: string) {
  const { rentBestOffer: answer } = await ask(RentBestWithTemplateDocument, { template, filter, maxPricePerHour })
  if (answer?.__typename === 'RentBestOfferSuccess') return answer.instance
  throw new Error(answer?.message)
}

/** 11. The bids that would win back the GPUs of outbid instances, whenever the market changes them. */
export async function* watchBidsToBeat(stream: Stream, filter: InstanceFilter) {
  for await (const { instanceChanges: item } of stream(WatchBidsDocument, { filter })) {
    if (item.__typename !== 'InstanceChange') continue
    const { id, status, bidPerHour, minimumBidPerHour } = item.instance
    const isOutbid = status === 'SCHEDULING' && bidPerHour !== null
    if (isOutbid && minimumBidPerHour !== null) yield { id, bidPerHour: minimumBidPerHour }
  }
}

/** 12. The machines of a host: which are free, and what renters pay for each. */
export async function hostedMachines(ask: Ask) {
  const { viewer } = await ask(HostedMachinesDocument)
  return (viewer.account?.hostedMachines?.nodes ?? []).map(({ machine, freeGpus, rentedGpus, renterCostPerHour }) => {
    return { id: machine.id, gpu: machine.gpu.name, freeGpus, rentedGpus, renterCostPerHour }
  })
}
