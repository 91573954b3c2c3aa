import { countEdits } from '../../domain/nearest.ts'
import { type Check, failAs, ok, warn } from '../check.ts'

export type SettingsFacts = {
  /** The names of all variables of the environment that have a value. */
  given: readonly string[]
  /** The names of all settings. */
  known: readonly string[]
  problems: readonly string[]
}

/** Nothing else of an environment begins like this. */
const ownWords = /^(BERTH|DATABASE|NOTEBOOK|RATE_LIMIT|REPLICA|SIMULATED|TRUSTED|WEBHOOK)_/
/** A name with this many wrong letters is taken for a misspelled setting. */
const mostEdits = 2

export function checkSettings({ given, known, problems }: SettingsFacts): Check[] {
  const used = given.filter(name => known.includes(name)).toSorted()
  const unknown = given.filter(name => !known.includes(name)).flatMap(name => checkUnknown(name, known))
  if (problems.length > 0) return [...problems.map(wrongSetting), ...unknown]
  return [ok('settings', used.length > 0 ? `Set: ${used.join(', ')}.` : 'All have their defaults.'), ...unknown]
}

function wrongSetting(problem: string): Check {
  return failAs('settings', problem, 'Correct it: docs/operating.md explains every setting.')
}

function checkUnknown(name: string, known: readonly string[]): Check[] {
  const [nearest] = known
    .map(setting => ({ setting, edits: countEdits(name.toUpperCase(), setting) }))
    .toSorted((a, b) => a.edits - b.edits)
  const isMisspelled = nearest !== undefined && nearest.edits <= mostEdits && name.length > 2 * mostEdits
  if (!isMisspelled && !ownWords.test(name)) return []
  const advice =
    nearest && nearest.edits <= name.length / 2 ? `Rename it to ${nearest.setting}, or remove it.` : 'Remove it.'
  return [warn('settings', `Berth has no setting ${name}.`, advice)]
}
