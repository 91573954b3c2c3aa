import type { Actor } from '../../domain/actor.ts'
import { invalidInput, invalidState, notFound } from '../../domain/errors.ts'
import { commandIssues, maxOutput, whyNoCommand } from '../../domain/instances/logs.ts'
import { authorise } from '../authorize.ts'
import { asked } from '../console.ts'
import type { Deps } from '../deps.ts'
import { instanceServices } from './read.ts'

export type Executed = { exitCode: number; output: string; truncated: boolean }

/** A command has so long to end. */
const patienceMs = 30_000

export function executeServices(deps: Deps) {
  const { byIds } = instanceServices(deps)

  return {
    /** Runs a command in a running instance, and waits for its end. It is handed on as it is: no shell here reads it. */
    async execute(actor: Actor, id: bigint, command: string): Promise<Executed> {
      authorise(actor, 'instances.execute', { id: Number(id) })
      const issues = commandIssues(command)
      if (issues.length > 0) throw invalidInput(issues)
      const [instance] = await byIds(actor, [id], 'instances.execute')
      if (!instance) throw notFound('Instance', id)
      const refusal = whyNoCommand(instance)
      const result =
        refusal === undefined
          ? await asked(patienceMs, signal => deps.containerConsole.execute(id, command, signal))
          : undefined
      if (!result) throw invalidState(id, refusal ?? 'Its container does not run.')
      const { exitCode, output } = result
      return { exitCode, output: output.slice(0, maxOutput), truncated: output.length > maxOutput }
    },
  }
}
