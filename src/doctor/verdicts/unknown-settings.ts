// Variables that look like settings and are none. The program would go on with the default of the setting that was meant.

import { countEdits } from '../../domain/nearest.ts'

type Names = {
  /** The names of all variables of the environment that have a value. */
  given: readonly string[]
  /** The names of all settings. */
  known: readonly string[]
}
type UnknownSetting = { found: string; advice: string }

/** Nothing else of an environment begins like this. */
const ownWords = /^(BERTH|DATABASE|NOTEBOOK|RATE_LIMIT|REPLICA|SIMULATED|TRUSTED|WEBHOOK)_/
/** What Kubernetes tells each container of a service named `berth`. */
const ofServices = /_(SERVICE_(HOST|PORT\w*)|PORT(_\d+_\w+)?)$/
/** A name with this many wrong letters is taken for a misspelled setting. */
const mostEdits = 2

export function findUnknownSettings({ given, known }: Names): UnknownSetting[] {
  return given.filter(name => !known.includes(name)).flatMap(name => explainUnknown(name, known))
}

function explainUnknown(name: string, known: readonly string[]): UnknownSetting[] {
  const [nearest] = known
    .map(setting => ({ setting, edits: countEdits(name.toUpperCase(), setting) }))
    .toSorted((a, b) => a.edits - b.edits)
  const isMisspelled = nearest !== undefined && nearest.edits <= mostEdits && name.length > 2 * mostEdits
  if (!isMisspelled && (!ownWords.test(name) || ofServices.test(name))) return []
  const advice =
    nearest && nearest.edits <= name.length / 2 ? `Rename it to ${nearest.setting}, or remove it.` : 'Remove it.'
  return [{ found: `Berth has no setting ${name}.`, advice }]
}
