import type { Actor } from '../../domain/actor.ts'
import { invalidInput, invalidState } from '../../domain/errors.ts'
import { requireLiving } from '../../domain/instances/actions.ts'
import { commandIssues, executeRefusal, maxOutputLength } from '../../domain/instances/logs.ts'
import { authorize } from '../authorize.ts'
import { askMachine } from '../container-console.ts'
import type { Deps } from '../deps.ts'
import { instanceReadServices } from './read.ts'

export type ExecuteResult = { exitCode: number; output: string; truncated: boolean }

const commandTimeoutMs = 30_000

export function executeServices(deps: Deps) {
  const { byIds } = instanceReadServices(deps)

  return {
    /**
     * Runs a command in a running instance and waits until the command ends. The gateway does not parse the command.
     */
    async execute(actor: Actor, id: bigint, command: string): Promise<ExecuteResult> {
      authorize(actor, 'instances.execute', { id: Number(id) })
      const issues = commandIssues(command)
      if (issues.length > 0) throw invalidInput(issues)
      const [found] = await byIds(
        actor,
        [id],
        { machineId: true, status: true, destroyedAt: true },
        'instances.execute',
      )
      const instance = requireLiving(id, found)
      const refusal = executeRefusal(instance)
      const container = { machineId: instance.machineId, instanceId: id, accountId: actor.accountId }
      const result =
        refusal === undefined
          ? await askMachine(commandTimeoutMs, signal => deps.containerConsole.execute(container, command, signal))
          : undefined
      if (!result) throw invalidState(id, refusal ?? 'The container of the instance is not running.')
      const { exitCode, output } = result
      return { exitCode, output: output.slice(0, maxOutputLength), truncated: output.length > maxOutputLength }
    },
  }
}
