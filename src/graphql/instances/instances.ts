import { accessOf } from '../../domain/instances/access.ts'
import { actionRefusal, availabilityOf, type Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { SshKey, sshKeysByInstance } from '../accounts/ssh-keys.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { LaunchConfig } from '../launch/launch.ts'
import { createLoader } from '../loader.ts'
import { GpuModel } from '../machines/gpu-models.ts'
import { Machine } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { Offer, offerById, RentalType } from '../offers/offers.ts'
import { permissionSentence } from '../permission.ts'
import { Template, templateById } from '../templates/templates.ts'
import { InstanceConnectionInfo } from './access.ts'
import { InstancePolicy } from './policy.ts'
import { ActionAvailability, InstanceKind, InstanceStatus, StatusReason, TargetState } from './status.ts'

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
      description: 'Why its status is what it is. Null while nothing was started.',
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
      description: `The offer that it used up, at the prices of today. ${permissionSentence('offers.get')}`,
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
    template: t.field({
      type: Template,
      nullable: true,
      description: `The template that it began with, as that is today. Null without one, and when it is gone or no longer public. ${permissionSentence('templates.get')}`,
      resolve: ({ templateId }, _args, context) =>
        templateId === null ? null : templateById(context).load(templateId),
    }),
    templateHash: t.exposeString('templateHash', {
      nullable: true,
      description: 'The hash by which the request named its template. Null without one.',
    }),

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
    minimumBidPerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: `The least bid with which it has its GPUs, against all others who want them now. Null where no bid helps: on demand, when it never runs again, and while a rental on demand has some of its GPUs. ${permissionSentence('instances.get')}`,
      resolve: async (instance, _args, context) =>
        actionRefusal('changeBid', instance) === null
          ? (await minimumBidById(context).load(instance.id))?.minimumBidNanos
          : null,
    }),
    pricePerHour: t.field({
      type: 'Usd',
      description: 'GPUs and disk, per hour while it runs: as agreed when it was rented or, at a bid, as it bids now.',
      resolve: ({ computeNanos, diskNanos }) => computeNanos + diskNanos,
    }),
    diskPricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'The disk alone, per hour: what it costs while it is stopped.',
    }),
    policy: t.field({
      type: InstancePolicy,
      description: 'What is arranged for it, and happens by itself.',
      resolve: instance => instance,
    }),
    connection: t.field({
      type: InstanceConnectionInfo,
      nullable: true,
      description: 'How it is reached. Null unless it runs.',
      resolve: accessOf,
    }),

    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: true,
      description: 'The idempotency key that it was rented with. Null without one.',
    }),
    sshKeys: t.field({
      type: [SshKey],
      description:
        'The keys that log in to it. A virtual machine keeps those that it was made with, and a container in args mode has none.',
      // Few have more.
      complexity: { multiplier: 10 },
      resolve: async ({ id }, _args, context) => (await sshKeysByInstance(context).load(id))?.sshKeys ?? [],
    }),

    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was rented.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it first ran.' }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      description:
        'When its rental ends by itself, because its machine leaves the market: it is destroyed then, with its disk. The event `INSTANCE_ENDING` tells so 24 hours before.',
    }),
    destroyedAt: t.expose('destroyedAt', { type: 'DateTime', nullable: true, description: 'When it was destroyed.' }),
  }),
})

export const minimumBidById = createLoader((context, ids: readonly bigint[]) =>
  context.services.instances.minimumBids(context.actor, ids),
)

export const instanceById = createLoader((context, ids: readonly bigint[]) =>
  context.services.instances.byIds(context.actor, ids),
)

builder.queryField('instance', t =>
  t.field({
    type: Instance,
    nullable: true,
    description: `One of the account's instances by its id, also after it was destroyed. Null for anybody else's. ${permissionSentence('instances.get')}`,
    args: { id: t.arg.id({ required: true, description: 'Such as `ins_42`, or `42`.' }) },
    resolve: (_root, { id }, context) => instanceById(context).load(parseId('Instance', id)),
  }),
)
