import { maxPageSize } from '../../domain/pages.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'

export const GpuModel = builder.prismaObject('GpuModel', {
  description: 'A GPU model under its market name, with the specifications that all its cards share.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the GPU model, such as `gpu_42`.',
      resolve: ({ id }) => printId('GpuModel', id),
    }),
    name: t.exposeString('name', { description: 'Name of the model, such as "RTX 4090" or "H100 SXM".' }),
    architecture: t.exposeString('architecture', { description: 'Vendor: `nvidia` or `amd`.' }),
    gpuRamMb: t.exposeInt('ramMb', { description: 'Memory of one GPU in MB.' }),
    memoryBandwidthGigabytesPerSecond: t.exposeFloat('memoryBandwidthGigabytesPerSecond', {
      description: 'Memory bandwidth of one GPU in GB/s (gigabytes).',
    }),
    tflops: t.exposeFloat('tflops', { description: 'Single-precision TFLOPS of one GPU.' }),
    maxPowerWatts: t.exposeFloat('maxPowerWatts', { description: 'Power limit of one GPU in watts.' }),
    computeCapability: t.exposeInt('computeCapability', {
      description: 'CUDA compute capability times 100: 890 means 8.9. 0 for a model without CUDA.',
    }),
  }),
})

export const gpuModelById = createLoader((context, ids: readonly number[]) =>
  context.services.gpuModels.byIds(context.actor, ids),
)

builder.queryField('gpuModels', t =>
  t.prismaField({
    type: ['GpuModel'],
    description: `Lists all GPU models, sorted by name. ${permissionSentence('gpuModels.list')}`,
    complexity: { multiplier: maxPageSize },
    resolve: (query, _root, _args, { services, actor }) => services.gpuModels.list(actor, query),
  }),
)
