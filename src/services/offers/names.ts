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
  city: sql`SELECT DISTINCT 'city' AS field, city AS name FROM machines WHERE unlisted_at IS NULL`,
}

/** Cities are read from all machines, so a new one counts as unknown for this long. */
const cityDelayMs = 60_000

type Remembered = { names: StoredNames; citiesReadMs: number }
const nothing: Remembered = {
  names: { gpuName: namesOf([]), city: namesOf([]) },
  citiesReadMs: Number.NEGATIVE_INFINITY,
}
/** Names hardly ever go, so a name that was once read counts as known from then on. */
const remembered = new WeakMap<Database, Remembered>()

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
  const { names, citiesReadMs } = remembered.get(deps.database) ?? nothing
  const nowMs = deps.database.clock.now().getTime()
  const unknown = new Set<string>(unknownNames(filter, names).map(({ field }) => field))
  if (nowMs < citiesReadMs + cityDelayMs) unknown.delete('city')
  const fields = storedFields.filter(field => unknown.has(field))
  if (fields.length === 0) return names
  const read = { ...names, ...(await readNames(deps, fields)) }
  remembered.set(deps.database, { names: read, citiesReadMs: fields.includes('city') ? nowMs : citiesReadMs })
  return read
}

async function readNames(deps: ReadDeps, fields: readonly StoredField[]): Promise<Partial<StoredNames>> {
  const selects = join(
    fields.map(field => namesSql[field]),
    ' UNION ALL ',
  )
  const rows = await readStale(deps, ({ query }) => query(sql`${selects} ORDER BY name`, { field: text, name: text }))
  const namesIn = (wanted: StoredField) => namesOf(rows.flatMap(({ field, name }) => (field === wanted ? [name] : [])))
  return Object.fromEntries(fields.map(field => [field, namesIn(field)]))
}
