import type { Actor } from '../../../domain/actor.ts'
import { authorizeEach } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { readNotebooks } from './read.ts'
import { readNotebookToken } from './token.ts'

export function notebookTokenServices({ database, secrets }: Deps) {
  return {
    /**
     * The tokens of an account's notebooks. Whoever has a token can run commands in its instance, so it needs the
     * permission for that. Instances without a notebook are left out.
     */
    async notebookTokens(actor: Actor, ids: readonly bigint[]): Promise<{ id: bigint; token: string }[]> {
      authorizeEach(actor, 'instances.execute', ids)
      const rows = await readNotebooks(database, ids)
      const own = rows.filter(({ accountId }) => accountId === actor.accountId)
      return own.map(row => ({ id: row.id, token: readNotebookToken(secrets, row) }))
    },
  }
}
