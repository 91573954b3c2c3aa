import type { InstanceAction as Action, availabilityOf } from '../../domain/instances/actions.ts'
import { instanceStatuses, type TargetState as Target } from '../../domain/instances/states.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { Reason } from '../events/reason.ts'

export const TargetState = enumOf<Target>('TargetState', 'Desired state of an instance.', {
  running: 'The instance should run. It starts as soon as it gets its GPUs.',
  stopped: 'The instance should be stopped. Its disk is kept and still costs money.',
})

export const seenStatuses = [...instanceStatuses, 'destroyed'] as const
export type StatusWithDestroyed = (typeof seenStatuses)[number]

export const InstanceStatus = enumOf<StatusWithDestroyed>(
  'InstanceStatus',
  'Observed state of an instance. An instance that is EXITED, UNKNOWN or OFFLINE never runs again. New values may be added.',
  {
    created: 'Rented, but nothing has started yet.',
    scheduling: 'Waiting for its GPUs.',
    loading: 'Pulling the image or starting.',
    running: 'The container or virtual machine runs.',
    stopping: 'Stopping, but still on its machine.',
    stopped: 'Stopped, on request or by a rule: see `statusReason`. It can start again.',
    exited: 'Ended without a request, or failed to start.',
    offline: 'The gateway has not reached the machine for too long.',
    unknown: 'The machine no longer has the container.',
    destroyed: 'Destroyed for good. It costs nothing.',
  },
)

export const InstanceKind = builder.enumType('InstanceKind', {
  description: 'Whether an instance is a container or a virtual machine.',
  values: {
    CONTAINER: { description: 'A container, which shares the operating system of its machine.' },
    VM: { description: 'A virtual machine, with an operating system of its own. It needs an SSH key.' },
  } as const,
})

const InstanceAction = enumOf<Action>('InstanceAction', 'An action on an instance. New values may be added.', {
  start: 'Set the target state to `RUNNING`.',
  stop: 'Set the target state to `STOPPED`.',
  reboot: 'Stop the container and start it again.',
  recycle: 'Recreate the container with an empty disk.',
  updateBid: 'Raise or lower the bid for the GPUs.',
  destroy: 'End the rental and delete the disk.',
})

export const ActionAvailability = builder
  .objectRef<ReturnType<typeof availabilityOf>[number]>('ActionAvailability')
  .implement({
    description: 'Whether an action on an instance is available now.',
    fields: t => ({
      action: t.expose('action', { type: InstanceAction, description: 'Action that is available or not.' }),
      available: t.exposeBoolean('available', {
        description: 'Whether the action is allowed now and would change something.',
      }),
      reason: t.expose('reason', {
        type: Reason,
        nullable: true,
        description:
          'Why the action is not available. Null when it is. The mutation then answers `InvalidStateError` with this reason, or, if the instance is already as asked for, succeeds and changes nothing.',
      }),
    }),
  })
