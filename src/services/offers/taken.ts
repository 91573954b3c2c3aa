import { readingOf } from '../../database/selection/reading.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { OfferFacts } from '../../domain/offers/offers.ts'
import type { DataDeps } from '../deps.ts'
import { defaultLimits } from './offers.ts'
import type { OfferSelection } from './sql/selection.ts'
import { offerSource, wholeOffer } from './sql/source.ts'
import { takenStatement } from './sql/taken.ts'

/** A rented block that matches. Internal: does not authorize; callers must have. */
export async function findTaken(
  { database }: DataDeps,
  selection: Omit<OfferSelection, 'bundled'>,
): Promise<OfferFacts | undefined> {
  const { nowSql } = database
  const reading = readingOf(offerSource(nowSql), wholeOffer)
  const timed = { ...selection, bundled: false, nowSql, limits: defaultLimits }
  const [taken] = await database.read(withoutStatementName(takenStatement(timed, reading)), reading)
  return taken
}
