import { Account } from '../accounts/accounts.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { createRequiredLoader } from '../loader.ts'
import { pageSelectionOf } from '../selection.ts'
import { Machine } from './machines.ts'

export const HostedMachine = builder.prismaObject('Machine', {
  variant: 'HostedMachine',
  select: { id: true },
  description: 'A machine as its host sees it: its prices, and what of it is rented now.',
  fields: t => ({
    machine: t.variant(Machine, { description: 'The machine as renters see it.' }),
    freeGpus: t.int({
      description: 'Number of GPUs that no instance holds.',
      select: { gpuUses: true },
      resolve: ({ gpuUses }) => gpuUses.filter(use => use === 'free').length,
    }),
    rentedGpus: t.int({
      description: 'Number of GPUs that instances hold, on demand or by bids.',
      select: { gpuUses: true },
      resolve: ({ gpuUses }) => gpuUses.filter(use => use !== 'free').length,
    }),
    interruptibleGpus: t.int({
      description: 'Number of GPUs that interruptible instances hold. They are part of `rentedGpus`.',
      select: { gpuUses: true },
      resolve: ({ gpuUses }) => gpuUses.filter(use => use === 'interruptible').length,
    }),
    instanceCount: t.exposeInt('instanceCount', {
      description: 'Number of instances on the machine that are not destroyed, whether they run or not.',
    }),
    runningInstanceCount: t.exposeInt('runningInstanceCount', {
      description: 'Number of instances on the machine that are running.',
    }),
    volumeCount: t.exposeInt('volumeCount', { description: 'Number of volumes on the machine, attached or not.' }),
    renterCostPerHour: t.field({
      type: 'Usd',
      description:
        'What renters pay per hour now for the GPUs, disks and volumes of this machine, in US dollars. Berth keeps no account of what hosts are paid.',
      resolve: async ({ id }, _args, context) => (await renterCostsByMachine(context).load(id)).renterCostPerHourNanos,
    }),
    pricePerGpuHour: t.expose('gpuNanos', {
      type: 'Usd',
      description: 'Price of one GPU on demand, in US dollars per hour.',
    }),
    minimumBidPerGpuHour: t.expose('minBidGpuNanos', {
      type: 'Usd',
      description: 'Lowest bid that the host accepts for one GPU, in US dollars per hour.',
    }),
    diskPricePerGbMonth: t.expose('diskPricePerGbMonthNanos', {
      type: 'Usd',
      description: 'Price of one GB of disk for 720 hours, in US dollars.',
    }),
    downloadPricePerGb: t.expose('downloadPricePerGbNanos', {
      type: 'Usd',
      description: 'Price of one GB downloaded, in US dollars.',
    }),
    uploadPricePerGb: t.expose('uploadPricePerGbNanos', {
      type: 'Usd',
      description: 'Price of one GB uploaded, in US dollars.',
    }),
    listed: t.boolean({
      description:
        'Whether the machine is on the market: it was not taken off, and `listedUntil` has not passed. A machine that is draining is listed but takes no new rentals.',
      select: { unlistedAt: true, listedUntil: true, asOf: true },
      resolve: ({ unlistedAt, listedUntil, asOf }) => unlistedAt === null && listedUntil > asOf,
    }),
    listedUntil: t.expose('listedUntil', {
      type: 'DateTime',
      description: 'When the machine leaves the market. No rental lasts longer.',
    }),
    draining: t.boolean({
      description: 'Whether the operator drains the machine: it takes no new rentals, and those on it keep running.',
      select: { drainedAt: true, unlistedAt: true },
      resolve: ({ drainedAt, unlistedAt }) => drainedAt !== null && unlistedAt === null,
    }),
    suspended: t.boolean({
      description:
        'Whether the machine takes no new rentals because it has not confirmed in time that a container on it has stopped.',
      select: { unconfirmedAt: true },
      resolve: ({ unconfirmedAt }) => unconfirmedAt !== null,
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'Time when the numbers were read.' }),
  }),
})

const renterCostsByMachine = createRequiredLoader((context, ids: readonly number[]) =>
  context.services.machines.renterCosts(context.actor, ids),
)

builder.objectField(Account, 'hostedMachines', t =>
  t.connection(
    {
      type: HostedMachine,
      nullable: true,
      description:
        'Lists the machines that the account hosts, oldest first, including those that left the market. Empty for an account that only rents.',
      requires: 'machines.hosted',
      complexity: pageComplexity,
      // The account is always the caller's own, so the service takes only the actor.
      resolve: async (_account, page, context, info) =>
        connectionOf(await context.services.machines.hostedPage(context.actor, page, pageSelectionOf(context, info))),
    },
    {
      name: 'HostedMachineConnection',
      description: 'A page of machines of a host.',
      fields: t => ({
        totalCount: t.int({
          description: 'Number of machines on all pages. Counted only when this field is requested.',
          resolve: (_page, _args, { services, actor }) => services.machines.countHosted(actor),
        }),
      }),
    },
    { name: 'HostedMachineEdge', description: 'A machine of a host with its cursor.' },
  ),
)
