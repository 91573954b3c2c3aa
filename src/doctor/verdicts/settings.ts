import { type Check, failAs, ok, warn } from '../check.ts'
import { findUnknownSettings } from './unknown-settings.ts'

export type SettingsFacts = {
  /** The names of all variables of the environment that have a value. */
  given: readonly string[]
  /** The names of all settings. */
  known: readonly string[]
  problems: readonly string[]
}

export function checkSettings({ given, known, problems }: SettingsFacts): Check[] {
  const used = given.filter(name => known.includes(name)).toSorted()
  const unknown = findUnknownSettings({ given, known }).map(({ found, advice }) => warn('settings', found, advice))
  if (problems.length > 0) return [...problems.map(wrongSetting), ...unknown]
  return [ok('settings', used.length > 0 ? `Set: ${used.join(', ')}.` : 'All have their defaults.'), ...unknown]
}

function wrongSetting(problem: string): Check {
  return failAs('settings', problem, 'Correct it: docs/operating.md explains every setting.')
}
