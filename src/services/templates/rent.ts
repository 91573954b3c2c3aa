import { Prisma } from '../../database/generated/client.ts'
import { int4, jsonb, text } from '../../database/row-types.ts'
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

type TemplateForLaunch = { id: number; hash: string; launch: LaunchInput }

/** The templates that a rental can start from, with their secrets: several only if they share a name. */
export async function loadTemplatesForLaunch(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  reference: TemplateReference,
): Promise<TemplateForLaunch[]> {
  const named = referenceSql(actor, reference)
  if (!named) return []
  const rows = await tx.query(
    sql`
      SELECT t.id, t.hash_id, t.settings, t.registry_login, t.secret_env FROM templates t
      WHERE ${visibleSql(actor.accountId)} AND ${named} LIMIT 2`,
    { id: int4, hashId: text, settings: jsonb<TemplateSettings>(), ...sealedSecrets },
  )
  return rows.map(({ id, hashId, settings, ...sealed }) => {
    return { id, hash: hashId, launch: templateLaunchInput(settings, openSecrets(secrets, sealed)) }
  })
}

/** Undefined if no template can match, because PostgreSQL rejects the text or the text is no hash. */
function referenceSql({ accountId }: Actor, reference: TemplateReference): Prisma.Sql | undefined {
  if ('id' in reference) return sql`t.id = ${reference.id}::bigint`
  if ('hashId' in reference) return isTemplateHash(reference.hashId) ? sql`t.hash_id = ${reference.hashId}` : undefined
  if (textProblem(reference.name)) return undefined
  return sql`t.account_id = ${accountId} AND t.name = ${reference.name}`
}
