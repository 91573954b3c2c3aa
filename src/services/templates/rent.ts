import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import { isTemplateHash, type TemplateSettings, templateLaunchInput } from '../../domain/templates/templates.ts'
import { openJson, type Secrets } from '../secrets.ts'
import { visibleSql } from './templates.ts'

const { sql, join } = Prisma

/**
 * The template that a rental starts from, with its secrets. Undefined if the renter cannot see a template with this
 * hash.
 */
export async function loadTemplateForLaunch(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  hash: string,
): Promise<{ id: number; hash: string; launch: LaunchInput } | undefined> {
  if (!isTemplateHash(hash)) return undefined
  const conditions = join([...visibleSql(actor), sql`t.hash_id = ${hash}`], ' AND ')
  const [row] = await tx.rows(sql`
    SELECT t.id, t.settings, t.registry_login, t.secret_env FROM templates t WHERE ${conditions}`)
  if (!row) return undefined
  const [id, settings, registryLogin, secretEnv] = row as [number, TemplateSettings, Buffer | null, Buffer | null]
  const stored = {
    registry: openJson<Registry>(secrets, registryLogin),
    env: openJson<Record<string, string>>(secrets, secretEnv),
  }
  return { id, hash, launch: templateLaunchInput(settings, stored) }
}
