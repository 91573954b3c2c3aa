import { accessOf } from '../../domain/instances/access.ts'
import { availabilityOf, judgeAction } from '../../domain/instances/actions.ts'
import type { PortBinding } from '../../domain/instances/instances.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { reasonOf } from '../../domain/reasons.ts'
import { authorize } from '../../services/authorize.ts'
import { SshKey, sshKeysByInstance } from '../accounts/ssh-keys.ts'
import { builder } from '../builder.ts'
import { Reason } from '../events/reason.ts'
import { parseId, printId } from '../ids.ts'
import { LaunchConfig } from '../launch/launch.ts'
import { createLoader, createSelectedLoader } from '../loader.ts'
import { GpuModel } from '../machines/gpu-models.ts'
import '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { Offer, offerById } from '../offers/offers.ts'
import { RentalKind } from '../offers/price.ts'
import { isRead, selectionOf } from '../selection.ts'
import { Template, templateById } from '../templates/templates.ts'
import { InstanceConnectionInfo } from './access.ts'
import { InstancePolicy, policySelect } from './policy.ts'
import { ActionAvailability, InstanceKind, InstanceStatus, TargetState } from './status.ts'

const bidState = { targetState: true, status: true, destroyedAt: true, interruptible: true } as const

export const Instance = builder.prismaObject('Instance', {
  select: { id: true },
  description: 'A rental of GPUs with the container or virtual machine that uses them.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the instance, such as `ins_42`.',
      resolve: ({ id }) => printId('Instance', id),
    }),
    label: t.exposeString('label', {
      nullable: true,
      description: 'Label that the renter gave the instance. Null without one.',
    }),
    kind: t.field({
      type: InstanceKind,
      description: 'Whether the instance is a container or a virtual machine.',
      select: { vm: true },
      resolve: ({ vm }) => (vm ? 'VM' : 'CONTAINER'),
    }),
    targetState: t.expose('targetState', {
      type: TargetState,
      description: 'Desired state. The instance moves toward it asynchronously; `status` is the observed state.',
    }),
    status: t.field({
      type: InstanceStatus,
      description: 'Observed state: what the gateway last saw on the machine.',
      select: { status: true, destroyedAt: true },
      resolve: ({ status, destroyedAt }) => (destroyedAt ? 'destroyed' : status),
    }),
    statusReason: t.field({
      type: Reason,
      nullable: true,
      description: 'Why the instance has its current status. Null before the first start.',
      select: { reasonCode: true, reasonMessage: true, exitCode: true },
      resolve: ({ reasonCode, reasonMessage, exitCode }) => reasonOf(reasonCode, reasonMessage, exitCode),
    }),
    statusChangedAt: t.field({
      type: 'DateTime',
      description: 'When the instance entered its current status.',
      select: { statusChangedAt: true, destroyedAt: true },
      resolve: ({ statusChangedAt, destroyedAt }) => destroyedAt ?? statusChangedAt,
    }),
    terminal: t.boolean({
      description:
        'Whether the instance can never run again. True when it is destroyed, `EXITED`, `OFFLINE` or `UNKNOWN`.',
      select: { status: true, destroyedAt: true },
      resolve: ({ status, destroyedAt }) => destroyedAt !== null || isFinal(status),
    }),
    actions: t.field({
      type: [ActionAvailability],
      description: 'Every action on the instance, with the reason for those that are not available now.',
      select: { ...bidState, restart: true, startedAt: true },
      resolve: availabilityOf,
    }),

    offer: t.field({
      type: Offer,
      nullable: true,
      description: 'The offer that was rented, at current prices.',
      requires: 'offers.get',
      select: (_args, _context, nestedSelection) => ({ offerId: true, offer: nestedSelection() }),
      resolve: (instance, _args, context, info) => {
        authorize(context.actor, 'offers.get')
        if (isRead(instance, 'offer')) return instance.offer
        return offerById(context, selectionOf(context, info)).load(instance.offerId)
      },
    }),
    machine: t.relation('machine', { description: 'The machine that hosts the instance. It never changes.' }),
    gpu: t.field({
      type: GpuModel,
      description: 'Model of the GPUs of the instance.',
      select: (_args, _context, nestedSelection) => ({ machine: { select: { gpuModel: nestedSelection() } } }),
      resolve: ({ machine }) => machine.gpuModel,
    }),
    gpuName: t.string({
      description: 'Name of the GPU model, such as "RTX 4090".',
      select: { machine: { select: { gpuModel: { select: { name: true } } } } },
      resolve: ({ machine }) => machine.gpuModel.name,
    }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs of the instance.' }),
    diskGb: t.float({
      description: 'Size of the disk in GB.',
      select: { diskMb: true },
      resolve: ({ diskMb }) => diskMb / 1000,
    }),
    launch: t.field({
      type: LaunchConfig,
      description: 'Settings that the container starts with.',
      select: { launch: true, diskMb: true },
      resolve: instance => instance,
    }),
    template: t.field({
      type: Template,
      nullable: true,
      description:
        'The template that the instance was rented with, in its current version. Null without one, and when the template is deleted, or of another account and no longer public or hidden.',
      requires: 'templates.get',
      select: (_args, _context, nestedSelection) => ({ templateId: true, template: nestedSelection() }),
      resolve: (instance, _args, context, info) => {
        if (instance.templateId === null) return null
        authorize(context.actor, 'templates.get', { id: instance.templateId })
        if (isRead(instance, 'template')) return instance.template
        return templateById(context, selectionOf(context, info)).load(instance.templateId)
      },
    }),
    templateHashId: t.exposeString('templateHash', {
      nullable: true,
      description:
        '`hashId` of the template when the instance took its settings, whether the request named the template by ID, hash or name. Null without a template.',
    }),

    rentalKind: t.field({
      type: RentalKind,
      description: 'Rental terms of the instance: on demand or interruptible.',
      select: { interruptible: true },
      resolve: ({ interruptible }) => (interruptible ? 'interruptible' : 'onDemand'),
    }),
    bidPerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'Bid per hour for all GPUs, in US dollars. Null for an on-demand rental.',
      select: { interruptible: true, gpuPriceNanos: true },
      resolve: ({ interruptible, gpuPriceNanos }) => (interruptible ? gpuPriceNanos : null),
    }),
    minimumBidPerHour: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Lowest bid for all GPUs of the instance that holds them against all current competitors, in US dollars per hour. Null when no bid helps: the rental is on demand or terminal, or an on-demand rental holds some of the GPUs.',
      requires: 'instances.get',
      select: { ...bidState, minimumBidNanos: true },
      resolve: async (instance, _args, context) => {
        if (judgeAction('updateBid', instance).outcome === 'refused') return null
        // A stream has read it, to tell of its changes.
        if (isRead(instance, 'minimumBidNanos')) return instance.minimumBidNanos
        return (await minimumBidById(context).load(instance.id))?.minimumBidNanos
      },
    }),
    pricePerHour: t.field({
      type: 'Usd',
      description:
        'Price per hour of GPUs and disk while the instance runs, in US dollars. On demand it is fixed when the instance is rented; otherwise it follows the current bid.',
      select: { gpuPriceNanos: true, diskNanos: true },
      resolve: ({ gpuPriceNanos, diskNanos }) => gpuPriceNanos + diskNanos,
    }),
    diskPricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'Price per hour of the disk alone, in US dollars. It is also charged while the instance is stopped.',
    }),
    policy: t.field({
      type: InstancePolicy,
      description: 'When the gateway stops or destroys the instance automatically.',
      select: policySelect,
      resolve: instance => instance,
    }),
    connection: t.field({
      type: InstanceConnectionInfo,
      nullable: true,
      description: 'How to connect to the instance. Null unless it is running.',
      select: {
        status: true,
        destroyedAt: true,
        launch: true,
        portBindings: { select: { hostPort: true, containerPort: true, protocol: true } },
        ...{ simulated: true, sshProxy: true, notebookProxy: true },
        machine: { select: { publicIp: true } },
      },
      // A constraint of the column admits only the protocols that the domain knows.
      resolve: instance => accessOf({ ...instance, portBindings: instance.portBindings as PortBinding[] }),
    }),

    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: true,
      description: 'Idempotency key of the request that rented the instance. Null without one.',
    }),
    sshKeys: t.field({
      type: [SshKey],
      description:
        'SSH keys that can log in. A virtual machine keeps the keys it was created with; a container in `args` mode has none.',
      // An instance rarely has more than 10 keys.
      complexity: { multiplier: 10 },
      resolve: async ({ id }, _args, context, info) =>
        (await sshKeysByInstance(context, selectionOf(context, info)).load(id)).sshKeys,
    }),

    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the instance was rented.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the instance first ran. Null before that.',
    }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      description:
        'When the rental ends because the machine leaves the market. The instance is then destroyed with its disk. The event `INSTANCE_ENDING` is emitted 24 hours before.',
    }),
    destroyedAt: t.expose('destroyedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the instance was destroyed. Null until then.',
    }),
  }),
})

const minimumBidById = createLoader((context, ids: readonly bigint[]) =>
  context.services.instances.minimumBids(context.actor, ids),
)

export const instanceById = createSelectedLoader((context, ids: readonly bigint[], select) =>
  context.services.instances.byIds(context.actor, ids, select),
)

builder.queryField('instance', t =>
  t.field({
    type: Instance,
    nullable: true,
    description:
      'An instance of your account by ID, including a destroyed one. Null when your account has no such instance.',
    requires: 'instances.get',
    args: { id: t.arg.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }) },
    resolve: (_root, { id }, context, info) =>
      instanceById(context, selectionOf(context, info)).load(parseId('Instance', id)),
  }),
)
