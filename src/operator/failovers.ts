import type { Operations } from '../services/operations.ts'
import { defineCommand, type OperatorCommand } from './command.ts'

export const failoverCommands = {
  'failover list': defineCommand(
    {
      summary:
        'Lists when the database failed over or was restored, newest first. Changes between completeUntil and noticedAt may be lost.',
      options: {},
    },
    () => listFailovers,
  ),
} satisfies Record<string, OperatorCommand>

async function* listFailovers({ failovers }: Operations) {
  yield* await failovers.list()
}
