import { Prisma } from '../../../database/generated/client.ts'
import { bytea } from '../../../database/row-types.ts'
import type { Deps } from '../../deps.ts'

const { sql } = Prisma

export function hostKeyServices({ database, secrets }: Pick<Deps, 'database' | 'secrets'>) {
  return {
    /**
     * The private key by which SSH clients know the gateways. It is made once and kept in the database, so that all
     * gateways present the same key, and keep it when they restart.
     */
    async loadOrCreate(create: () => string): Promise<string> {
      const kept = await read()
      if (kept) return secrets.open(kept)
      await database.execute(
        sql`INSERT INTO ssh_host_key (sealed) VALUES (${secrets.seal(create())}) ON CONFLICT DO NOTHING`,
      )
      // Another gateway may have been faster.
      const made = await read()
      if (!made) throw new Error('The SSH host key was not stored.')
      return secrets.open(made)
    },
  }

  async function read(): Promise<Buffer | undefined> {
    const [row] = await database.query(sql`SELECT sealed FROM ssh_host_key`, { sealed: bytea })
    return row?.sealed
  }
}
