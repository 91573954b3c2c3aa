import {
  availabilityOf,
  type Instance as InstanceShape,
  instanceActions,
  instanceStatuses,
  isFinal,
  type PortBinding as PortBindingShape,
  targetStates,
} from '../../domain/instances.ts'
import { directAccessOf } from '../../domain/instances-access.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { loaderOf } from '../loader.ts'
import { needs } from '../permission.ts'
import { GpuModel } from './gpu-models.ts'
import { LaunchConfig } from './launch.ts'
import { Machine } from './machines.ts'
import { Node } from './node.ts'
import { Offer, offerById, RentalType } from './offers.ts'

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
    DESTROY: { value: instanceActions[2], description: 'End the rental.' },
  },
})

const ActionAvailability = builder
  .objectRef<ReturnType<typeof availabilityOf>[number]>('ActionAvailability')
  .implement({
    description: 'Whether something can be done to an instance now.',
    fields: t => ({
      action: t.expose('action', { type: InstanceAction, description: 'What would be done.' }),
      available: t.exposeBoolean('available', { description: 'Whether it would do something.' }),
      reason: t.exposeString('reason', { nullable: true, description: 'Why not. Null where it would.' }),
    }),
  })

const StatusReason = builder
  .objectRef<{ code: string; message: string; exitCode: number | null }>('StatusReason')
  .implement({
    description: 'Why the status is what it is.',
    fields: t => ({
      code: t.exposeString('code', {
        description:
          '`USER_REQUEST`, `WAITING_FOR_GPUS`, `OUTBID`, `IMAGE_PULL_FAILED`, `START_FAILED`, `EXITED` or `CONTAINER_LOST`; there will be more.',
      }),
      message: t.exposeString('message', { description: 'The same for people.' }),
      exitCode: t.exposeInt('exitCode', { nullable: true, description: 'What its container ended with, if it did.' }),
    }),
  })

const PortBinding = builder.objectRef<PortBindingShape>('PortBinding').implement({
  description: 'A public port of the machine that leads into the instance.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'The port inside.' }),
    hostPort: t.exposeInt('hostPort', { description: "The port at the machine's public address." }),
    protocol: t.exposeString('protocol', { description: '`tcp` or `udp`.' }),
  }),
})

const InstanceConnectionInfo = builder
  .objectRef<{ host: string; sshPort: number | null; ports: PortBindingShape[] }>('InstanceConnectionInfo')
  .implement({
    description: 'How a running instance is reached.',
    fields: t => ({
      host: t.exposeString('host', { description: 'The public address.' }),
      sshPort: t.exposeInt('sshPort', { nullable: true, description: 'Where SSH answers. Null without direct SSH.' }),
      sshCommand: t.string({
        nullable: true,
        description: 'The command line that logs in. Null without direct SSH.',
        resolve: ({ host, sshPort }) => (sshPort === null ? null : `ssh -p ${sshPort} root@${host}`),
      }),
      ports: t.expose('ports', { type: [PortBinding], description: 'All public ports that lead into it.' }),
    }),
  })

export const Instance = builder.objectRef<InstanceShape>('Instance').implement({
  description: 'A rental of GPUs, with the container or virtual machine on them.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `ins_`.', resolve: ({ id }) => printId('Instance', id) }),
    label: t.exposeString('label', { nullable: true, description: 'What its renter calls it.' }),
    kind: t.field({
      type: InstanceKind,
      description: 'Container or virtual machine.',
      resolve: ({ vm }) => (vm ? 'VM' : 'CONTAINER'),
    }),
    targetState: t.expose('targetState', { type: TargetState, description: 'What is wished of it.' }),
    status: t.field({
      type: InstanceStatus,
      description: 'What was last seen of it.',
      resolve: ({ status, destroyedAt }) => (destroyedAt ? 'destroyed' : status),
    }),
    statusReason: t.field({
      type: StatusReason,
      nullable: true,
      description: 'Why its status is what it is. Null where that goes without saying.',
      resolve: ({ reasonCode: code, reasonMessage: message, exitCode }) =>
        code === null || message === null ? null : { code, message, exitCode },
    }),
    statusChangedAt: t.field({
      type: 'DateTime',
      description: 'Since when it has this status.',
      resolve: ({ statusChangedAt, destroyedAt }) => destroyedAt ?? statusChangedAt,
    }),
    terminal: t.boolean({
      description: 'Whether it will never run again, whatever is asked.',
      resolve: ({ status, destroyedAt }) => destroyedAt !== null || isFinal(status),
    }),
    actions: t.field({
      type: [ActionAvailability],
      description: 'What can be done to it now and, where something can not, why.',
      resolve: availabilityOf,
    }),

    offer: t.field({
      type: Offer,
      nullable: true,
      description: `The offer that it used up, at the prices of today. ${needs('offers.get')}`,
      resolve: ({ offerId }, _args, context) => offerById(context).load(offerId),
    }),
    machine: t.field({
      type: Machine,
      description: 'The machine that it is on, for life.',
      resolve: ({ machine }) => machine,
    }),
    gpu: t.field({ type: GpuModel, description: 'The model of its GPUs.', resolve: ({ machine }) => machine.gpuModel }),
    gpuName: t.string({ description: 'Name of that model.', resolve: ({ machine }) => machine.gpuModel.name }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs that it has.' }),
    diskGb: t.float({ description: 'Its disk in GB.', resolve: ({ diskMb }) => diskMb / 1000 }),
    launch: t.field({ type: LaunchConfig, description: 'What is started on it.', resolve: instance => instance }),

    rentalType: t.field({
      type: RentalType,
      description: 'How its price was made.',
      resolve: ({ interruptible }) => (interruptible ? 'interruptible' : 'onDemand'),
    }),
    bidPerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'What it bids for its GPUs per hour. Null on demand.',
      resolve: ({ interruptible, computeNanos }) => (interruptible ? computeNanos : null),
    }),
    pricePerHour: t.field({
      type: 'Usd',
      description: 'GPUs and disk, per hour while it runs, as agreed when it was rented.',
      resolve: ({ computeNanos, diskNanos }) => computeNanos + diskNanos,
    }),
    diskPricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'The disk alone, per hour: what it costs while it is stopped.',
    }),
    connection: t.field({
      type: InstanceConnectionInfo,
      nullable: true,
      description: 'How it is reached. Null unless it runs.',
      resolve: directAccessOf,
    }),

    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was rented.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it first ran.' }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      description: 'When its machine leaves the market, as announced when it was rented.',
    }),
    destroyedAt: t.expose('destroyedAt', { type: 'DateTime', nullable: true, description: 'When it was destroyed.' }),
  }),
})

export const instanceById = loaderOf((context, ids: readonly bigint[]) =>
  context.services.instances.byIds(context.actor, ids),
)

builder.queryField('instance', t =>
  t.field({
    type: Instance,
    nullable: true,
    description: `One of the account's instances by its id, also after it was destroyed. Null for anybody else's. ${needs('instances.get')}`,
    args: { id: t.arg.id({ required: true, description: 'Such as `ins_42`, or `42`.' }) },
    resolve: (_root, { id }, context) => instanceById(context).load(parseId('Instance', id)),
  }),
)
