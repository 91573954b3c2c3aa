import { Prisma } from '../../database/generated/client.ts'
import { int4, text } from '../../database/row-types.ts'
import type { Deps } from '../deps.ts'

const { sql } = Prisma

const batchSize = 1_000

/**
 * Seals the URLs of webhooks from before URLs were sealed. Each batch is one statement, so after a crash the next gateway
 * goes on. The caller must hold the migration lock.
 */
export async function sealWebhookUrls({ database, secrets }: Pick<Deps, 'database' | 'secrets'>): Promise<void> {
  for (;;) {
    const rows = await database.query(
      sql`SELECT id, unsealed_url FROM webhooks WHERE unsealed_url IS NOT NULL ORDER BY id LIMIT ${batchSize}`,
      { id: int4, unsealedUrl: text },
    )
    if (rows.length === 0) return
    const sealed = rows.map(({ unsealedUrl }) => secrets.seal(unsealedUrl))
    await database.execute(sql`
      UPDATE webhooks w SET sealed_url = s.url, unsealed_url = NULL
      FROM unnest(${rows.map(({ id }) => id)}::int[], ${sealed}::bytea[]) AS s(id, url)
      WHERE w.id = s.id AND w.unsealed_url IS NOT NULL`)
  }
}
