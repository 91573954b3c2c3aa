import {
  type LogSource as LineSource,
  type LogLine as LogLineShape,
  maxLogLines,
} from '../../domain/instances/containers.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'

const LogSource = enumOf<LineSource>('LogSource', 'Where a line of a log came from.', {
  machine: 'The machine, which tells what it does with the container.',
  stdout: 'Standard output of what runs in the container.',
  stderr: 'Standard error of what runs in the container.',
})

const LogLine = builder.objectRef<LogLineShape>('LogLine').implement({
  description: 'A line of the log of an instance.',
  fields: t => ({
    cursor: t.exposeString('cursor', { description: 'Where it stands: `instanceLogs` goes on `after` it.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was printed, by the clock of the machine.' }),
    source: t.expose('source', { type: LogSource, description: 'Where it came from.' }),
    line: t.exposeString('text', { description: 'The line, without its end.' }),
  }),
})

builder.objectField(Instance, 'logs', t =>
  t.field({
    type: [LogLine],
    description: `The last lines of its log, the oldest first. None before it was first started, and none once it is destroyed. Its machine is asked for them. ${permissionSentence('instances.logs')}`,
    args: {
      tail: t.arg.int({ required: true, defaultValue: 200, description: `How many lines, 1 to ${maxLogLines}.` }),
    },
    // Each asks a machine: a few in one operation, and not a page of instances.
    complexity: ({ tail }) => ({ field: 1_000, multiplier: Math.min(Math.max(tail, 1), maxLogLines) }),
    resolve: (instance, { tail }, { services, actor }) => services.instances.logs(actor, instance, tail),
  }),
)

builder.subscriptionField('instanceLogs', t =>
  t.field({
    type: LogLine,
    description: `The log of an instance: its last lines, and whatever it prints from then on, each line once, until it is destroyed. ${permissionSentence('instances.logs')}`,
    args: {
      id: t.arg.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
      tail: t.arg.int({
        required: true,
        defaultValue: 100,
        description: `How many lines of what it printed before, 0 to ${maxLogLines}.`,
      }),
      after: t.arg.string({ description: 'Go on after the line with this cursor, whatever `tail` is.' }),
    },
    subscribe: (_root, { id, tail, after }, { services, actor }) =>
      services.instances.watchLogs(actor, parseId('Instance', id), { tail, after: after ?? undefined }),
    resolve: line => line,
  }),
)
