import { type availabilityOf, instanceActions, reasonCodes } from '../../domain/instances/instances.ts'
import { instanceStatuses, targetStates } from '../../domain/instances/states.ts'
import { builder } from '../builder.ts'

export const TargetState = builder.enumType('TargetState', {
  description: 'What is wished of an instance.',
  values: {
    RUNNING: { value: targetStates[0], description: 'It is to run, as soon as its GPUs are its own.' },
    STOPPED: { value: targetStates[1], description: 'It is to stop. Its disk stays, and is paid for.' },
  },
})

const seen = [...instanceStatuses, 'destroyed'] as const
export type SeenStatus = (typeof seen)[number]

export const InstanceStatus = builder.enumType('InstanceStatus', {
  description: 'What was last seen of an instance. From EXITED, UNKNOWN and OFFLINE it never runs again.',
  values: {
    CREATED: { value: 'created', description: 'It is rented, and nothing was started yet.' },
    SCHEDULING: { value: 'scheduling', description: 'It waits for its GPUs.' },
    LOADING: { value: 'loading', description: 'Its image is pulled, or it starts.' },
    RUNNING: { value: 'running', description: 'It runs.' },
    STOPPING: { value: 'stopping', description: 'It was told to stop, and has not yet.' },
    STOPPED: { value: 'stopped', description: 'It stopped because it was asked to. It can start again.' },
    EXITED: { value: 'exited', description: 'It ended by itself, or could not be started.' },
    OFFLINE: { value: 'offline', description: 'Its machine has not been reached for long.' },
    UNKNOWN: { value: 'unknown', description: 'Its machine does not know of it any more.' },
    DESTROYED: { value: 'destroyed', description: 'It was destroyed, and costs nothing.' },
  } as const satisfies Record<string, { value: SeenStatus; description: string }>,
})

export const InstanceKind = builder.enumType('InstanceKind', {
  description: 'What runs on the GPUs.',
  values: { CONTAINER: { description: 'A container.' }, VM: { description: 'A virtual machine.' } } as const,
})

const InstanceAction = builder.enumType('InstanceAction', {
  description: 'What can be done to an instance.',
  values: {
    START: { value: instanceActions[0], description: 'Set its target state to RUNNING.' },
    STOP: { value: instanceActions[1], description: 'Set its target state to STOPPED.' },
    REBOOT: { value: instanceActions[2], description: 'Stop its container, and start it again.' },
    RECYCLE: { value: instanceActions[3], description: 'Make its container anew, and its disk with it.' },
    CHANGE_BID: { value: instanceActions[4], description: 'Bid more or less for its GPUs.' },
    DESTROY: { value: instanceActions[5], description: 'End the rental.' },
  },
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
