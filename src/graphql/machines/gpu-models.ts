import { ramGbOf } from '../../domain/machines/gpu-ram.ts'
import type { GpuVendor as GpuVendorShape } from '../../domain/machines/machines.ts'
import { maxPageSize } from '../../domain/pages.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'

export const GpuVendor = enumOf<GpuVendorShape>(
  'GpuVendor',
  'Company that makes a GPU model. New values may be added.',
  {
    nvidia: 'NVIDIA, whose GPUs run CUDA.',
    amd: 'AMD, whose GPUs run ROCm.',
  },
)

export const GpuModel = builder.prismaObject('GpuModel', {
  select: { id: true },
  description: 'A GPU model under its market name, with the specifications that all its cards share.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the GPU model, such as `gpu_42`.',
      resolve: ({ id }) => printId('GpuModel', id),
    }),
    name: t.exposeString('name', { description: 'Name of the model, such as "RTX 4090" or "H100 SXM".' }),
    vendor: t.field({
      type: GpuVendor,
      description: 'Company that makes the GPUs.',
      select: { vendor: true },
      // A constraint of the column admits only these.
      resolve: ({ vendor }) => vendor as GpuVendorShape,
    }),
    gpuRamMb: t.exposeInt('ramMb', { description: 'Memory of one GPU in MB.' }),
    gpuRamGb: t.int({
      description: 'Memory of one GPU in GB as its maker states it: 24 for a card that reports 24,564 MB.',
      select: { ramMb: true },
      resolve: ({ ramMb }) => ramGbOf(ramMb),
    }),
    memoryBandwidthGigabytesPerSecond: t.exposeFloat('memoryBandwidthGigabytesPerSecond', {
      description: 'Memory bandwidth of one GPU in GB/s (gigabytes).',
    }),
    tflops: t.exposeFloat('tflops', { description: 'Single-precision TFLOPS of one GPU.' }),
    maxPowerWatts: t.exposeFloat('maxPowerWatts', { description: 'Power limit of one GPU in watts.' }),
    computeCapability: t.exposeString('computeCapability', {
      nullable: true,
      description: 'CUDA compute capability, such as "8.9". Null for a model without CUDA.',
    }),
  }),
})

export const gpuModelById = createSelectedLoader((context, ids: readonly number[], select) =>
  context.services.gpuModels.byIds(context.actor, ids, select),
)

builder.queryField('gpuModels', t =>
  t.field({
    type: [GpuModel],
    description: 'Lists all GPU models, sorted by name.',
    requires: 'gpuModels.list',
    complexity: { multiplier: maxPageSize },
    resolve: (_root, _args, context, info) =>
      context.services.gpuModels.list(context.actor, selectionOf(context, info)),
  }),
)
