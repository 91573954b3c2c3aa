import { type InstanceAction as Action, type availabilityOf, reasonCodes } from '../../domain/instances/instances.ts'
import { instanceStatuses, type TargetState as Target } from '../../domain/instances/states.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'

export const TargetState = enumOf<Target>('TargetState', 'What is wished of an instance.', {
  running: 'It is to run, as soon as its GPUs are its own.',
  stopped: 'It is to stop. Its disk stays, and is paid for.',
})

export const seenStatuses = [...instanceStatuses, 'destroyed'] as const
export type StatusWithDestroyed = (typeof seenStatuses)[number]

export const InstanceStatus = enumOf<StatusWithDestroyed>(
  'InstanceStatus',
  'What was last seen of an instance. From EXITED, UNKNOWN and OFFLINE it never runs again.',
  {
    created: 'It is rented, and nothing was started yet.',
    scheduling: 'It waits for its GPUs.',
    loading: 'Its image is pulled, or it starts.',
    running: 'It runs.',
    stopping: 'It was told to stop, and has not yet.',
    stopped: 'It stopped because it was asked to. It can start again.',
    exited: 'It ended by itself, or could not be started.',
    offline: 'Its machine has not been reached for long.',
    unknown: 'Its machine does not know of it any more.',
    destroyed: 'It was destroyed, and costs nothing.',
  },
)

export const InstanceKind = builder.enumType('InstanceKind', {
  description: 'What runs on the GPUs.',
  values: { CONTAINER: { description: 'A container.' }, VM: { description: 'A virtual machine.' } } as const,
})

const InstanceAction = enumOf<Action>('InstanceAction', 'What can be done to an instance.', {
  start: 'Set its target state to RUNNING.',
  stop: 'Set its target state to STOPPED.',
  reboot: 'Stop its container, and start it again.',
  recycle: 'Make its container anew, and its disk with it.',
  changeBid: 'Bid more or less for its GPUs.',
  destroy: 'End the rental.',
})

export const ActionAvailability = builder
  .objectRef<ReturnType<typeof availabilityOf>[number]>('ActionAvailability')
  .implement({
    description: 'Whether something can be done to an instance now.',
    fields: t => ({
      action: t.expose('action', { type: InstanceAction, description: 'What would be done.' }),
      available: t.exposeBoolean('available', { description: 'Whether it would do something.' }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why not. Null where it would.' }),
    }),
  })

export const StatusReason = builder
  .objectRef<{ code: string; message: string; exitCode: number | null }>('StatusReason')
  .implement({
    description: 'Why the status is what it is.',
    fields: t => ({
      code: t.exposeString('code', {
        description: `${reasonCodes.map(code => `\`${code}\``).join(', ')}; there will be more.`,
      }),
      message: t.exposeString('message', { description: 'The same for people.' }),
      exitCode: t.exposeInt('exitCode', { nullable: true, description: 'What its container ended with, if it did.' }),
    }),
  })
