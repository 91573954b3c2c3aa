import type { GpuStats, InstanceMetrics as InstanceMetricsShape } from '../../../domain/instances/metrics.ts'
import { builder } from '../../builder.ts'

const unknown = 'Null if the machine does not say.'

const GpuMetrics = builder.objectRef<GpuStats & { index: number }>('GpuMetrics').implement({
  description: 'What one GPU of an instance did in a period.',
  fields: t => ({
    index: t.exposeInt('index', { description: 'Index of the GPU in the instance, from 0.' }),
    utilizationPercent: t.float({
      nullable: true,
      description: `Percent of the time in which the GPU was busy, 0 to 100. ${unknown}`,
      resolve: ({ utilization }) => utilization,
    }),
    memoryUsedMb: t.float({
      nullable: true,
      description: `Memory of the GPU in use, in MB, on average. ${unknown}`,
      resolve: ({ memoryMb }) => memoryMb,
    }),
  }),
})

export const InstanceMetrics = builder.objectRef<InstanceMetricsShape>('InstanceMetrics').implement({
  description: 'What an instance used in a period while it ran.',
  fields: t => ({
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'Start of the period, inclusive.' }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      description: 'End of the period, exclusive. In the future if the period is not over.',
    }),
    cpuCoresUsed: t.float({
      nullable: true,
      description: `CPU cores in use on average: 1.5 is one and a half. ${unknown}`,
      resolve: ({ cpuCores }) => cpuCores,
    }),
    memoryUsedMb: t.float({
      nullable: true,
      description: `Main memory in use, in MB, on average, without files that are only cached. ${unknown}`,
      resolve: ({ memoryMb }) => memoryMb,
    }),
    diskUsedGb: t.float({
      nullable: true,
      description: `What the instance has written to its disk, in GB, without its image and volumes. Measured every five minutes. ${unknown}`,
      resolve: ({ diskMb }) => (diskMb === null ? null : diskMb / 1000),
    }),
    receivedMb: t.expose('receivedMb', {
      type: 'Float',
      nullable: true,
      description: `Data that the instance received from the network until the end of the period, in MB. Counts from 0 at each start of the container. ${unknown}`,
    }),
    sentMb: t.expose('sentMb', {
      type: 'Float',
      nullable: true,
      description: `Data that the instance sent to the network until the end of the period, in MB. Counts from 0 at each start of the container. ${unknown}`,
    }),
    gpus: t.field({
      type: [GpuMetrics],
      description: 'The GPUs of the instance, in their order. Empty if the machine says nothing of them.',
      // Most machines have at most 8.
      complexity: { multiplier: 8 },
      resolve: ({ gpus }) => gpus.map((gpu, index) => ({ ...gpu, index })),
    }),
  }),
})
