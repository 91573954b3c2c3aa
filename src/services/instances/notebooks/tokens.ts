import type { Actor } from '../../../domain/actor.ts'
import { authorizeEach } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { readNotebooks } from './read.ts'
import { readNotebookToken } from './token.ts'

export function notebookTokenServices(deps: Deps) {
  return {
    /**
     * The tokens of an account's notebooks. Whoever has a token can run commands in its instance, so it needs the
     * permission for that. Instances without a notebook are left out, and those whose token cannot be read.
     */
    async notebookTokens(actor: Actor, ids: readonly bigint[]): Promise<{ id: bigint; token: string }[]> {
      authorizeEach(actor, 'instances.execute', ids)
      const rows = await readNotebooks(deps.database, ids)
      const own = rows.filter(({ accountId }) => accountId === actor.accountId)
      return own.flatMap(row => {
        const token = readNotebookToken(deps, row)
        return token === undefined ? [] : [{ id: row.id, token }]
      })
    },
  }
}
