// The headers of draft-ietf-httpapi-ratelimit-headers: what the caller may use, and what is left.

import type { Budget } from './budgets.ts'
import { limitRules } from './points.ts'

export function rateLimitHeaders(budgets: readonly Budget[]): Record<string, string> {
  const tightest = tightestOf(budgets)
  if (!tightest) return {}
  const { name, capacity, perSecond } = tightest
  const level = tightest.level()
  const secondsToFull = Math.ceil((capacity - level) / perSecond)
  return {
    'ratelimit-policy': budgets.map(policyOf).join(', '),
    ratelimit: `"${name}";r=${Math.max(0, Math.floor(level))};t=${secondsToFull}`,
  }
}

export function retryAfterHeaders({ seconds }: { seconds: number }): Record<string, string> {
  return { 'retry-after': String(seconds) }
}

/** The one that ends first. */
export function tightestOf(budgets: readonly Budget[]): Budget | undefined {
  let [tightest] = budgets
  for (const budget of budgets) if (tightest && budget.level() < tightest.level()) tightest = budget
  return tightest
}

function policyOf({ name, capacity }: Budget): string {
  return `"${name}";q=${capacity};w=${limitRules.windowSeconds}`
}
