import { Prisma } from '../../database/generated/client.ts'
import { int4, jsonb, type RowOf, text } from '../../database/row-types.ts'
import { type Read, readOf } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import {
  isTemplateHash,
  type TemplateReference,
  type TemplateSettings,
  templateLaunchInput,
} from '../../domain/templates/templates.ts'
import { textProblem } from '../../domain/texts.ts'
import type { Secrets } from '../secrets.ts'
import { openSecrets, sealedSecrets } from './row.ts'
import { visibleSql } from './templates.ts'

const { sql, join } = Prisma

/** With its secrets. */
export type TemplateForLaunch = { id: number; hash: string; launch: LaunchInput }

const templateRow = { place: int4, id: int4, hashId: text, settings: jsonb<TemplateSettings>(), ...sealedSecrets }

/** The templates that a container can be made from: several only if they share a name. */
export async function loadTemplatesForLaunch(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  reference: TemplateReference,
): Promise<TemplateForLaunch[]> {
  const { templates } = templateReads([{ accountId: actor.accountId, reference }])
  if (!templates) return []
  return (await tx.query(templates.statement, templates.shape)).map(row => toTemplateForLaunch(secrets, row))
}

/** A template that an account refers to. */
type Wanted = { accountId: number; reference: TemplateReference | undefined }

/**
 * For `readTogether`: the rows that `toTemplateForLaunch` makes templates of, at most two for each that is wanted. `place` is the
 * place in the list. Nothing if no template can match.
 */
export function templateReads(wanted: readonly Wanted[]): { templates?: Read<typeof templateRow> } {
  const placed = wanted.flatMap(({ accountId, reference }, place) => {
    const named = reference && namedBy(reference)
    return named ? [{ accountId, place, ...named }] : []
  })
  if (placed.length === 0) return {}
  const ofKinds = Object.entries(Object.groupBy(placed, ({ kind }) => kind)).map(([kind, all]) => {
    const of = <Value>(value: (one: (typeof all)[number]) => Value) => all.map(value)
    return sql`
      SELECT wanted.place, t.* FROM unnest(
        ${of(({ place }) => place)}::int[], ${of(({ accountId }) => accountId)}::int[], ${of(({ value }) => value)}::text[]
      ) AS wanted(place, account_id, value) CROSS JOIN LATERAL (
        SELECT t.id, t.hash_id, t.settings, t.registry_login, t.secret_env FROM templates t
        WHERE ${visibleSql(sql`wanted.account_id`)} AND ${isNamedSql[kind as Kind]} LIMIT 2
      ) t`
  })
  return { templates: readOf(join(ofKinds, ' UNION ALL '), templateRow) }
}

export function toTemplateForLaunch(
  secrets: Secrets,
  { id, hashId, settings, place: _, ...sealed }: RowOf<typeof templateRow>,
): TemplateForLaunch {
  return { id, hash: hashId, launch: templateLaunchInput(settings, openSecrets(secrets, sealed)) }
}

type Kind = 'id' | 'hash' | 'name'

/** Undefined if no template can match, because PostgreSQL rejects the text or the text is no hash. */
function namedBy(reference: TemplateReference): { kind: Kind; value: string } | undefined {
  if ('id' in reference) return { kind: 'id', value: String(reference.id) }
  if ('hashId' in reference)
    return isTemplateHash(reference.hashId) ? { kind: 'hash', value: reference.hashId } : undefined
  return textProblem(reference.name) ? undefined : { kind: 'name', value: reference.name }
}

const isNamedSql: Record<Kind, Prisma.Sql> = {
  id: sql`t.id = wanted.value::bigint`,
  hash: sql`t.hash_id = wanted.value`,
  name: sql`t.account_id = wanted.account_id AND t.name = wanted.value`,
}
