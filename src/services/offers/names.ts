import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { text } from '../../database/row-types.ts'
import { invalidInput } from '../../domain/errors.ts'
import type { OfferFilter } from '../../domain/offers/filter.ts'
import { hintsOf } from '../../domain/offers/hints.ts'
import {
  namesOf,
  type StoredField,
  type StoredNames,
  storedFields,
  unknownNameIssues,
  unknownNames,
} from '../../domain/offers/names.ts'
import type { ReadDeps } from '../deps.ts'
import { readStale } from '../reads/stale.ts'

const { sql, join } = Prisma

const namesSql: Record<StoredField, Prisma.Sql> = {
  gpuName: sql`SELECT 'gpuName' AS field, name FROM gpu_models`,
  city: sql`SELECT DISTINCT 'city' AS field, city AS name FROM machines`,
}

const noNames: StoredNames = { gpuName: namesOf([]), city: namesOf([]) }
/** Names hardly ever go, so a name that was once read counts as known from then on. */
const remembered = new WeakMap<Database, StoredNames>()

export function offerNameServices(deps: ReadDeps) {
  return {
    /** What a search may have meant: see hints.ts. Public: the names of models, countries and cities are no secret. */
    async hints(filter: OfferFilter): Promise<string[]> {
      return hintsOf(filter, await namesFor(deps, filter))
    },
  }
}

/** Refuses the filter of a stream that waits for what nothing is called. Internal: does not authorize; callers must have. */
export async function refuseUnknownNames(deps: ReadDeps, filter: OfferFilter): Promise<void> {
  const names = await namesFor(deps, filter)
  const issues = unknownNameIssues(unknownNames(filter, names), names)
  if (issues.length > 0) throw invalidInput(issues)
}

/** The names to compare the filter with. They are read again only if it has one that was not among them. */
async function namesFor(deps: ReadDeps, filter: OfferFilter): Promise<StoredNames> {
  const known = remembered.get(deps.database) ?? noNames
  const unknown = unknownNames(filter, known)
  const fields = storedFields.filter(stored => unknown.some(({ field }) => field === stored))
  if (fields.length === 0) return known
  const statement = sql`${join(
    fields.map(field => namesSql[field]),
    ' UNION ALL ',
  )} ORDER BY name`
  const rows = await readStale(deps, ({ query }) => query(statement, { field: text, name: text }))
  const read = fields.map(stored => [
    stored,
    namesOf(rows.flatMap(({ field, name }) => (field === stored ? [name] : []))),
  ])
  const names: StoredNames = { ...known, ...Object.fromEntries(read) }
  remembered.set(deps.database, names)
  return names
}
