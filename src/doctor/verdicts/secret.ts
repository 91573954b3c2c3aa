import { type Check, fail, failAs, ok, warn } from '../check.ts'

export type SecretFacts = {
  /** Where the secret comes from: the setting, or a file in the data folder, which may be missing. */
  source: 'setting' | 'file'
  file: string
  secret: string | undefined
  /** Whether gateways keep it in the setting, because the database is the operator's own. */
  mustBeSet: boolean
  /** Whether the database has values that a secret encrypted; null if it could not be asked. */
  hasSealed: boolean | null
  /** What is wrong with this secret for this database; undefined if nothing is known. */
  problem: string | undefined
}

/** Text of fewer different characters is easy to guess. */
const leastCharacters = 8

export function checkSecret({ source, file, secret, mustBeSet, hasSealed, problem }: SecretFacts): Check[] {
  const name = 'secret'
  const [where, place] = source === 'setting' ? ['BERTH_SECRET', 'Set BERTH_SECRET'] : [file, `Restore ${file}`]
  if (secret === undefined) return [checkMissing({ file, mustBeSet, hasSealed })]
  if (secret === '') return [fail(name, `${file} is empty.`, 'Restore the file from a backup.')]
  if (problem !== undefined) return [failAs(name, problem, `${place} to the text that the gateways have.`)]
  if (new Set(secret).size < leastCharacters)
    return [
      warn(name, `${where} has few different characters, so it is easy to guess.`, strengthen({ source, hasSealed })),
    ]
  if (hasSealed === null) return [ok(name, `${where} is set, and was not tried on the database.`)]
  return [
    ok(
      name,
      hasSealed ? `${where} opens what the database has encrypted.` : `${where} is set, and nothing is encrypted yet.`,
    ),
  ]
}

/** What is encrypted with a secret that is easy to guess must be encrypted anew. */
function strengthen({ source, hasSealed }: Pick<SecretFacts, 'source' | 'hasSealed'>): string {
  if (source === 'file') return 'Stop all gateways, and run "secret change", which makes a new one.'
  const random = 'the output of "openssl rand -hex 32"'
  return hasSealed === false
    ? `Set BERTH_SECRET to ${random} before the first start.`
    : `Stop all gateways, and run "secret change" with BERTH_NEW_SECRET set to ${random}.`
}

function checkMissing({ file, mustBeSet, hasSealed }: Pick<SecretFacts, 'file' | 'mustBeSet' | 'hasSealed'>): Check {
  if (mustBeSet)
    return fail(
      'secret',
      'BERTH_SECRET is missing.',
      hasSealed
        ? 'Set it to the text that the gateways of this database have.'
        : 'Set it to the output of "openssl rand -hex 32", the same on every gateway.',
    )
  if (hasSealed)
    return fail(
      'secret',
      `${file} is missing, and the database is encrypted with it.`,
      'Restore the file from a backup.',
    )
  return ok('secret', `${file} does not exist yet: the first start makes it.`)
}
