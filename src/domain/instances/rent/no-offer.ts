// Why nothing was rented by a search for the best offer, and which offer comes nearest to what was sought.

import { type Attempt, DomainError } from '../../errors.ts'
import { joinMessages, type Message, mention, mentionField, withIds } from '../../messages.ts'
import { printUsd } from '../../money.ts'
import { type FieldValue, fieldTypeOf, fieldValueOf, type OfferField } from '../../offers/fields.ts'
import { type Condition, matchesFilter, type OfferFilter } from '../../offers/filter.ts'
import type { Offer } from '../../offers/offers.ts'
import type { OrderKey } from '../../offers/order.ts'

/** Beyond this many conditions, a search without each of them in turn would read too much. */
const maxLeftOut = 8

/** The filter without its upper limits of prices; undefined if it has none. */
export function withoutPriceLimits(filter: OfferFilter): OfferFilter | undefined {
  return hasPriceLimit(filter) ? mapConditions(filter, each => (isPriceLimit(each) ? [] : [each])) : undefined
}

/** The filter for all machines on the market, whether others use them or not, at any price. */
export function withoutAvailability(filter: OfferFilter): OfferFilter {
  return mapConditions(filter, condition => {
    if (isPriceLimit(condition) || condition.field === 'rentable' || condition.field === 'freePorts') return []
    return [condition.field === 'freeDiskGb' ? { ...condition, field: 'totalDiskGb' } : condition]
  })
}

/** Matches what is free and meets all conditions but one, at any price; undefined if too many could be left out. */
export function withoutOneCondition(filter: OfferFilter): OfferFilter | undefined {
  const { conditions, anyOf } = withoutPriceLimits(filter) ?? filter
  const [kept, left] = [conditions.filter(isKept), conditions.filter(condition => !isKept(condition))]
  if (left.length === 0 || left.length > maxLeftOut) return undefined
  const alternatives = left.map(each => ({ conditions: left.filter(other => other !== each), anyOf }))
  return { conditions: kept, anyOf: alternatives }
}

/**
 * The search for what is closest to the number that the nearest offer misses, cheapest first. Undefined if it misses no
 * number: then the cheapest is as near as any.
 */
export function closestSearch(
  nearest: Offer,
  filter: OfferFilter,
): { filter: OfferFilter; order: OrderKey[] } | undefined {
  const missed = missedCondition(nearest, filter)
  if (!missed || !('value' in missed) || !isAmount(missed.field)) return undefined
  const { field, value, operator } = missed
  const isBelow = operator === 'eq' ? fieldValueOf(nearest, field) < value : operator === 'gt' || operator === 'gte'
  // Offers can be below and above a number that they should have. This looks on the side of the nearest.
  const side: Condition[] = operator === 'eq' ? [{ field, operator: isBelow ? 'lt' : 'gt', value }] : []
  const loosened = mapConditions(withoutPriceLimits(filter) ?? filter, each => (each === missed ? side : [each]))
  return { filter: loosened, order: [{ field, direction: isBelow ? 'desc' : 'asc' }] }
}

/** Whether numbers of the field that are close to each other mean much the same. */
function isAmount(field: OfferField): boolean {
  return ['number', 'usd'].includes(fieldTypeOf(field)) && !['id', 'machineId', 'hostId'].includes(field)
}

function missedCondition(nearest: Offer, filter: OfferFilter): Condition | undefined {
  const { conditions } = withoutPriceLimits(filter) ?? filter
  return conditions.find(each => !matchesFilter(nearest, { conditions: [each], anyOf: [] }))
}

/** Machines that were passed over stay so. */
function isKept({ field, operator }: Condition): boolean {
  return field === 'rentable' || (field === 'machineId' && operator === 'nin')
}

function hasPriceLimit({ conditions, anyOf }: OfferFilter): boolean {
  return conditions.some(isPriceLimit) || anyOf.some(hasPriceLimit)
}

function isPriceLimit({ field, operator }: Condition): boolean {
  return fieldTypeOf(field) === 'usd' && (operator === 'lt' || operator === 'lte')
}

function mapConditions(filter: OfferFilter, change: (condition: Condition) => Condition[]): OfferFilter {
  return {
    conditions: filter.conditions.flatMap(change),
    anyOf: filter.anyOf.map(alternative => mapConditions(alternative, change)),
  }
}

export function attemptsFailed(attempts: Attempt[], passedOver: readonly number[]): DomainError {
  const message = `None of the matching offers could be rented.${passedOverSentence(passedOver)}`
  return new DomainError('NO_OFFER_RENTED', message, { attempts, reason: 'attemptsFailed', nearest: null })
}

/** The offer matches, except for its price. */
export function tooExpensive(nearest: Offer, passedOver: readonly number[]): DomainError {
  const cheapest = withIds`The cheapest, offer ${mention('Offer', nearest.id)}, ${costOf(nearest)}.`
  const message = withIds`Matching offers are free, but none is cheap enough. ${cheapest}${passedOverSentence(passedOver)}`
  return new DomainError('NO_OFFER_RENTED', message, { attempts: [], reason: 'tooExpensive', nearest })
}

/** `taken`: one that matches and is not free. `hints`: what the filter may have meant. `nearest`: one that is free and misses one condition. */
type Finding = { taken: Offer | undefined; hints: string[]; nearest: Offer | undefined }

export function noneFree(
  { taken, hints, nearest }: Finding,
  filter: OfferFilter,
  passedOver: readonly number[],
): DomainError {
  const message = joinMessages([
    taken ? takenSentence(taken) : 'No rentable offer matches the search.',
    ...hints,
    ...(nearest ? nearestSentence(nearest, filter) : []),
  ])
  return new DomainError('NO_OFFER_RENTED', withIds`${message}${passedOverSentence(passedOver)}`, {
    attempts: [],
    reason: taken ? 'nothingFree' : 'nothingMatches',
    nearest: nearest ?? null,
  })
}

/** The ID of a rented offer is used up, but its machine can be watched. */
function takenSentence(taken: Offer): Message {
  const gpus = `${taken.numGpus} × ${taken.machine.gpuModel.name}`
  const machine = mention('Machine', taken.machineId)
  return withIds`Matching offers exist, but none was free: ${gpus} on machine ${machine} ${costOf(taken)}.`
}

function nearestSentence(nearest: Offer, filter: OfferFilter): Message[] {
  const missed = missedCondition(nearest, filter)
  if (!missed) return []
  const offer = mention('Offer', nearest.id)
  return [withIds`The nearest, offer ${offer}, ${costOf(nearest)} and ${differenceOf(nearest, missed)}.`]
}

/** A bid is for the GPUs alone. */
function costOf({ pricing, price, minBidNanos }: Offer): string {
  return pricing.rentalKind === 'onDemand'
    ? `costs $${printUsd(price.totalNanos)} an hour`
    : `takes a bid of $${printUsd(minBidNanos)} an hour`
}

/** How the offer differs from what the condition asks for. */
function differenceOf(offer: Offer, { field }: Condition): Message {
  switch (field) {
    case 'gpuName':
      return `has another GPU, ${offer.machine.gpuModel.name}`
    case 'numGpus':
      return `has ${offer.numGpus} ${offer.numGpus === 1 ? 'GPU' : 'GPUs'}`
    case 'country':
      return `is in ${offer.machine.country}`
    case 'freeDiskGb':
      return `has ${offer.machine.freeDiskMb / 1000} GB of free disk`
    case 'freePorts':
      return `has ${offer.machine.freePorts} free ports`
    case 'vmsEnabled':
      return offer.machine.vmsEnabled ? 'can run virtual machines' : 'cannot run virtual machines'
    case 'machineId':
      return withIds`is on machine ${mention('Machine', offer.machineId)}`
    default:
      return withIds`has the ${mentionField(field)} ${printValue(fieldValueOf(offer, field))}`
  }
}

function printValue(value: FieldValue): string {
  return typeof value === 'bigint' ? `$${printUsd(value)}` : String(value)
}

function passedOverSentence({ length }: readonly number[]): string {
  if (length === 0) return ''
  const machines = length === 1 ? 'One machine was' : `${length} machines were`
  return ` ${machines} passed over, because a start of your account failed there in the last 24 hours. To try one again, rent its offer by ID.`
}
