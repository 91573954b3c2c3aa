// Takes the points of one request. A request that its payer cannot pay is refused before it does anything.

import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Client } from '../client.ts'
import { type Budget, createBudgets, type Keyless } from './budgets.ts'
import { rateLimitHeaders, tightestOf } from './headers.ts'
import { createKnownSecrets, digestOf } from './known-secrets.ts'
import { queryPoints, requestPoints } from './points.ts'

export type Payer = Actor | Keyless
/** What the payer of a request has left, and what the request has taken. */
export type LimitStatus = { cost: number; limit: number; remaining: number; pointsPerSecond: number; fullAt: Date }

export type Meter = {
  /** Takes what each request costs, once for a request. Throws RATE_LIMITED, as `take` does. */
  takeRequest(payer: Payer): void
  take(payer: Payer, points: number): void
  /** Takes points that were not foreseen, or gives back those that were not needed. */
  settle(points: number): void
  /**
   * Looks a secret up. It was a guess if nothing is found. An address without guesses is refused before the look, and so is
   * the owner of a known secret who has no points. Hosts pay for the look.
   */
  check<Found>(
    secret: string,
    look: () => Promise<Found | undefined>,
    ownerOf?: (found: Found) => Actor,
  ): Promise<Found | undefined>
  /** Whose key it was when it was used last. Undefined for what was no valid key. */
  recallOwner(secret: string): Actor | undefined
  /** Undefined if nothing limits the request. */
  status(): LimitStatus | undefined
  headers(): Record<string, string>
}
export type CreateMeter = (client: Client) => Meter

/** `testNow`: the clock of a test, by which buckets refill. */
type MeterOptions = { keyPointsPerSecond: number; now(): Date; testNow?: (() => Date) | undefined }

export function createMeters({ keyPointsPerSecond, now, testNow }: MeterOptions): CreateMeter {
  if (keyPointsPerSecond === 0) return unlimitedMeters
  const budgets = createBudgets(keyPointsPerSecond, testNow ? () => testNow().getTime() : () => performance.now())
  const secrets = createKnownSecrets()

  return client => {
    let paying: Budget[] = []
    let taken = 0
    let waitSeconds: number | undefined

    function take(payer: Payer, points: number): void {
      requireAll(payer, points)
      settle(points)
    }

    function requireAll(payer: Payer, points: number): void {
      requireOf(typeof payer === 'string' ? budgets.ofAddress(payer, client) : budgets.ofActor(payer, client), points)
    }

    function requireOf(payers: Budget[], points: number): void {
      paying = payers
      for (const budget of paying) requirePoints(budget, points)
    }

    function requirePoints(budget: Budget, points: number): void {
      const total = Math.min(taken + points, budget.capacity)
      if (budget.level() + taken >= total) return
      // The same request needs what it has taken so far once more.
      waitSeconds = Math.ceil(budget.waitMs(total) / 1_000)
      throw rateLimited(budget, waitSeconds, now())
    }

    /** A request that costs more than a budget can have takes all of it. */
    function settle(points: number): void {
      const before = taken
      taken += points
      for (const budget of paying) budget.take(Math.min(taken, budget.capacity) - Math.min(before, budget.capacity))
    }

    function takeGuesses(count: number): void {
      paying = budgets.ofAddress('guesses', client)
      for (const budget of paying) budget.take(count)
    }

    async function checkUnknown<Found>(look: () => Promise<Found | undefined>): Promise<Found | undefined> {
      requireOf(budgets.ofAddress('guesses', client), 1)
      // Taken before the look, because others look at the same time. A look that fails tells nothing.
      takeGuesses(1)
      const giveBack = () => {
        takeGuesses(-1)
        paying = []
      }
      const found = await look().catch((error: unknown) => {
        giveBack()
        throw error
      })
      if (found !== undefined) giveBack()
      return found
    }

    function payForLook(secret: string, owner: Actor | null): void {
      if (owner) {
        if (taken === 0) requireAll(owner, requestPoints)
        return
      }
      requireOf([budgets.ofHost(digestOf(secret))], queryPoints)
      settle(queryPoints)
    }

    /** A secret that has ended, which its owner may not know. */
    function forget(secret: string): void {
      secrets.delete(secret)
      takeGuesses(1)
    }

    return {
      takeRequest(payer) {
        if (taken === 0) take(payer, requestPoints)
      },
      take,
      settle,
      recallOwner: secret => secrets.find(secret) ?? undefined,
      async check(secret, look, ownerOf) {
        const owner = secrets.find(secret)
        if (owner === undefined) {
          const found = await checkUnknown(look)
          if (found !== undefined) secrets.add(secret, ownerOf?.(found) ?? null)
          return found
        }
        payForLook(secret, owner)
        const found = await look()
        if (found === undefined) forget(secret)
        return found
      },
      status() {
        const tightest = tightestOf(paying)
        return tightest && { cost: taken, ...statusOf(tightest, now()) }
      },
      headers: () => rateLimitHeaders(paying, waitSeconds),
    }
  }
}

function statusOf(budget: Budget, now: Date) {
  const { capacity: limit, perSecond: pointsPerSecond } = budget
  const level = budget.level()
  const fullAt = new Date(now.getTime() + Math.ceil(((limit - level) / pointsPerSecond) * 1_000))
  return { limit, remaining: Math.max(0, Math.floor(level)), pointsPerSecond, fullAt }
}

const unlimited: Meter = {
  takeRequest() {},
  take() {},
  settle() {},
  check: (_secret, look) => look(),
  recallOwner: () => undefined,
  status: () => undefined,
  headers: () => ({}),
}
/** For what this process asks itself. */
export const unlimitedMeters: CreateMeter = () => unlimited

const tooMuch: Record<Budget['name'], string> = {
  key: 'This API key asks for too much at once.',
  account: 'The API keys of this account ask for too much at once.',
  host: 'This host asks for too much at once.',
  address: 'Your address asks for too much without an API key. Send a key, or wait.',
  probes: 'Your address asks for this too often.',
  guesses: 'Your address has sent too many wrong keys.',
  network: 'The addresses of your network ask for too much without an API key. Send a key, or wait.',
  'network-probes': 'The addresses of your network ask for this too often.',
  'network-guesses': 'The addresses of your network have sent too many wrong keys.',
}

function rateLimited({ name }: Budget, seconds: number, now: Date): DomainError<'RATE_LIMITED'> {
  const message = `${tooMuch[name]} Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  return new DomainError('RATE_LIMITED', message, { seconds, retryAfter: new Date(now.getTime() + seconds * 1_000) })
}
