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

const { sql } = Prisma

/** With its secrets. */
export type TemplateForLaunch = { id: number; hash: string; launch: LaunchInput }

const templateRow = { id: int4, hashId: text, settings: jsonb<TemplateSettings>(), ...sealedSecrets }

/** The templates that a container can be made from: several only if they share a name. */
export async function loadTemplatesForLaunch(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  reference: TemplateReference,
): Promise<TemplateForLaunch[]> {
  const { templates } = templateReads(actor, reference)
  if (!templates) return []
  return (await tx.query(templates.statement, templates.shape)).map(row => toTemplateForLaunch(secrets, row))
}

/** For `readTogether`: the rows that `toTemplateForLaunch` makes templates of. Nothing if no template can match. */
export function templateReads(
  actor: Actor,
  reference: TemplateReference | undefined,
): { templates?: Read<typeof templateRow> } {
  const named = reference && referenceSql(actor, reference)
  if (!named) return {}
  const statement = sql`
    SELECT t.id, t.hash_id, t.settings, t.registry_login, t.secret_env FROM templates t
    WHERE ${visibleSql(actor.accountId)} AND ${named} LIMIT 2`
  return { templates: readOf(statement, templateRow) }
}

export function toTemplateForLaunch(
  secrets: Secrets,
  { id, hashId, settings, ...sealed }: RowOf<typeof templateRow>,
): TemplateForLaunch {
  return { id, hash: hashId, launch: templateLaunchInput(settings, openSecrets(secrets, sealed)) }
}

/** Undefined if no template can match, because PostgreSQL rejects the text or the text is no hash. */
function referenceSql({ accountId }: Actor, reference: TemplateReference): Prisma.Sql | undefined {
  if ('id' in reference) return sql`t.id = ${reference.id}::bigint`
  if ('hashId' in reference) return isTemplateHash(reference.hashId) ? sql`t.hash_id = ${reference.hashId}` : undefined
  if (textProblem(reference.name)) return undefined
  return sql`t.account_id = ${accountId} AND t.name = ${reference.name}`
}
