import { maxCommandLength, maxOutputLength } from '../../domain/instances/logs.ts'
import type { CommandResult } from '../../services/instances/execute.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'

const ExecuteCommandInput = builder.inputType('ExecuteCommandInput', {
  description: 'What to run, and where.',
  fields: t => ({
    id: t.id({ required: true, description: 'The instance, such as `ins_42`, or `42`.' }),
    command: t.string({
      required: true,
      description: `A command line for the shell of the container, at most ${maxCommandLength} characters.`,
    }),
  }),
})

const ExecuteCommandSuccess = builder.objectRef<CommandResult>('ExecuteCommandSuccess').implement({
  description: 'The command has ended.',
  fields: t => ({
    exitCode: t.exposeInt('exitCode', { description: 'What it ended with: 0 by custom when it succeeded.' }),
    output: t.exposeString('output', {
      description: `What it printed, of which the first ${maxOutputLength} characters.`,
    }),
    truncated: t.exposeBoolean('truncated', { description: 'Whether it printed more.' }),
  }),
})

const { union: ExecuteCommandResult, answer } = resultUnion(
  'ExecuteCommandResult',
  'What became of the command, or why it was not run.',
  ExecuteCommandSuccess,
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
)

builder.mutationField('executeCommand', t =>
  t.field({
    type: ExecuteCommandResult,
    description: `Runs a command in a running instance, and waits for its end, 30 seconds at most. Sent again, it runs again; after an error with the code \`UNAVAILABLE\` it may have run. ${permissionSentence('instances.execute')}`,
    complexity: { field: 1_000 },
    args: { input: t.arg({ type: ExecuteCommandInput, required: true, description: 'What, and where.' }) },
    resolve: (_root, { input: { id, command } }, { services, actor }) =>
      answer({}, () => services.instances.execute(actor, parseId('Instance', id), command)),
  }),
)
