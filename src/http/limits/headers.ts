// The headers of draft-ietf-httpapi-ratelimit-headers-11: the limits of the caller, and how many points are left.

import type { Budget } from './budgets.ts'
import { limitRules } from './points.ts'

/** `waitSeconds`: when a refused request can be repeated. */
export function rateLimitHeaders(budgets: readonly Budget[], waitSeconds?: number): Record<string, string> {
  const tightest = tightestOf(budgets)
  if (!tightest) return {}
  const { name, perSecond } = tightest
  const level = Math.max(0, Math.floor(tightest.level()))
  // A caller who spends the points evenly over this time spends them as fast as they come back.
  const seconds = waitSeconds ?? Math.max(1, Math.ceil(level / perSecond))
  return {
    'ratelimit-policy': budgets.map(policyOf).join(', '),
    ratelimit: `"${name}";r=${Math.min(level, seconds * perSecond)};t=${seconds}`,
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

/** Without a unit, a policy counts requests. That is true of guesses alone. The draft registers no unit like points. */
function policyOf({ name, capacity }: Budget): string {
  const unit = name.endsWith('guesses') ? '' : 'qu="points";'
  return `"${name}";q=${capacity};${unit}w=${limitRules.windowSeconds}`
}
