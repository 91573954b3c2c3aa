import { maxCommandLength, maxOutputLength } from '../../domain/instances/logs.ts'
import type { ExecuteResult } from '../../services/instances/execute.ts'
import { builder } from '../builder.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'

const ExecuteCommandInput = builder.inputType('ExecuteCommandInput', {
  description: 'A command and the instance to run it in.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
    command: t.string({
      required: true,
      description: `Command line for the shell of the container, at most ${maxCommandLength} characters.`,
    }),
  }),
})

const { union, answer } = mutationResult<ExecuteResult>('executeCommand', {
  description: 'Exit code and output of the command, or the error that kept it from running.',
  success: {
    description: 'The command ran to its end.',
    fields: t => ({
      exitCode: t.exposeInt('exitCode', { description: 'Exit code of the command. By convention 0 means success.' }),
      output: t.exposeString('output', {
        description: `Output of the command, cut after ${maxOutputLength} characters.`,
      }),
      truncated: t.exposeBoolean('truncated', {
        description: 'Whether `output` was cut because the command printed more.',
      }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
})

builder.mutationField('executeCommand', t =>
  t.field({
    type: union,
    description:
      'Runs a command in a running instance and waits up to 30 seconds for it to end. Not idempotent: each call runs the command. After an error with the code `UNAVAILABLE` the command may have run.',
    requires: 'instances.execute',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: ExecuteCommandInput,
        required: true,
        description: 'The command and the instance to run it in.',
      }),
    },
    resolve: (_root, { input: { id, command } }, { services, actor }) =>
      answer({}, () => services.instances.execute(actor, parseId('Instance', id), command)),
  }),
)
