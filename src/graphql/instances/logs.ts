import {
  type LogSource as LineSource,
  type LogLine as LogLineShape,
  maxLogLines,
} from '../../domain/instances/containers.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { parseId } from '../ids.ts'
import { countMachineRead, maxMachineReads } from '../limits/cost.ts'
import { Instance } from './instances.ts'

const LogSource = enumOf<LineSource>('LogSource', 'Source of a log line. New values may be added.', {
  machine: 'The machine, reporting what it does with the container.',
  stdout: 'Standard output of the container.',
  stderr: 'Standard error of the container.',
})

const LogLine = builder.objectRef<LogLineShape>('LogLine').implement({
  description: 'A line of an instance log.',
  fields: t => ({
    cursor: t.exposeString('cursor', {
      description: 'Position of the line. Pass it as `after` to `instanceLogs` to continue there.',
    }),
    printedAt: t.expose('printedAt', {
      type: 'DateTime',
      description: 'When the line was printed, by the clock of the machine.',
    }),
    source: t.expose('source', { type: LogSource, description: 'Source of the line.' }),
    text: t.exposeString('text', { description: 'Text of the line without the line break.' }),
  }),
})

builder.prismaObjectField(Instance, 'logs', t =>
  t.field({
    type: [LogLine],
    nullable: true,
    description: `The last log lines of the instance, oldest first, read from its machine. Empty before the first start and once the instance is destroyed; null, with an error, when the machine does not answer. An operation can read the logs of at most ${maxMachineReads} instances, and a subscription of none: see \`instanceLogs\`.`,
    requires: 'instances.logs',
    args: {
      tail: t.arg.int({
        required: true,
        defaultValue: 200,
        description: `Number of lines, 1 to ${maxLogLines}. Defaults to 200.`,
      }),
    },
    complexity: ({ tail }) => ({ field: 1, multiplier: Math.min(Math.max(tail, 1), maxLogLines) }),
    select: { accountId: true, machineId: true },
    resolve: (instance, { tail }, context, info) => {
      countMachineRead(context, info)
      return context.services.instances.logs(context.actor, instance, tail)
    },
  }),
)

builder.subscriptionField('instanceLogs', t =>
  t.field({
    type: LogLine,
    description:
      'Streams the log of an instance: its last lines, then each new line once, until the instance is destroyed.',
    requires: 'instances.logs',
    args: {
      id: t.arg.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
      tail: t.arg.int({
        required: true,
        defaultValue: 100,
        description: `Number of earlier lines to start with, 0 to ${maxLogLines}. Defaults to 100.`,
      }),
      after: t.arg.string({
        description:
          'Cursor of a log line: the stream starts after that line and ignores `tail`. If absent or null, `tail` says where it starts.',
      }),
    },
    subscribe: (_root, { id, tail, after }, { services, actor }) =>
      services.instances.watchLogs(actor, parseId('Instance', id), { tail, after: after ?? undefined }),
    resolve: line => line,
  }),
)
