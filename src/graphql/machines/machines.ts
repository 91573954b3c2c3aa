import { printDriverVersion, type Verification } from '../../domain/machines/machines.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { GpuModel } from './gpu-models.ts'

export const VerificationStatus = enumOf<Verification>('VerificationStatus', 'How far a machine has been checked.', {
  verified: 'It was tested, and is what it says.',
  unverified: 'It was not tested yet.',
  deverified: 'It was verified once, and failed since.',
})

export const Machine = builder.prismaObject('Machine', {
  description: "A host's computer. Its offers are blocks of its GPUs.",
  interfaces: [Node],
  include: { gpuModel: true },
  fields: t => ({
    id: t.id({ description: 'Starts with `mch_`.', resolve: ({ id }) => printId('Machine', id) }),
    hostId: t.exposeInt('hostId', { description: 'Machines of one host have this in common.' }),
    gpu: t.field({ type: GpuModel, description: 'The model of all its GPUs.', resolve: ({ gpuModel }) => gpuModel }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs of the whole machine.' }),
    reliability: t.exposeFloat('reliability', { description: 'Share of the time that it kept its promises, 0 to 1.' }),
    verification: t.expose('verification', { type: VerificationStatus, description: 'How far it has been checked.' }),
    country: t.exposeString('country', { description: 'Where it stands: ISO 3166, two letters.' }),
    city: t.exposeString('city', { description: 'Where in the country, as its host says it.' }),
    datacenter: t.exposeBoolean('datacenter', { description: 'Whether it stands in a data center.' }),
    vmsEnabled: t.exposeBoolean('vmsEnabled', { description: 'Whether it runs virtual machines beside containers.' }),

    cpuName: t.exposeString('cpuName', { description: 'The CPU as its maker names it.' }),
    cpuArch: t.exposeString('cpuArch', { description: '`amd64` or `arm64`.' }),
    cpuCores: t.exposeInt('cpuCores', { description: 'Virtual cores of the whole machine.' }),
    cpuGhz: t.exposeFloat('cpuGhz', { description: 'Clock speed in GHz.' }),
    cpuRamMb: t.exposeInt('cpuRamMb', { description: 'Memory of the whole machine in MB.' }),
    hasAvx: t.exposeBoolean('hasAvx', { description: 'Whether the CPU has AVX instructions.' }),
    motherboard: t.exposeString('motherboard', { description: 'The board as its maker names it.' }),
    osVersion: t.string({
      description: 'Version of Ubuntu, such as "22.04".',
      resolve: ({ osVersion }) => osVersion.toFixed(2),
    }),

    driverVersion: t.string({
      description: 'Version of the GPU driver, such as "580.105.08".',
      resolve: ({ driverVersion, gpuModel }) => printDriverVersion(driverVersion, gpuModel.architecture),
    }),
    cudaVersion: t.exposeFloat('cudaVersion', {
      description: 'Newest CUDA that the driver runs; 0 where CUDA does not run.',
    }),
    pciGeneration: t.exposeFloat('pciGeneration', { description: 'PCI Express generation.' }),
    pcieGbps: t.exposeFloat('pcieGbps', { description: 'Measured bandwidth between CPU and GPU in GB/s.' }),
    nvlinkGbps: t.exposeFloat('nvlinkGbps', { description: 'Bandwidth between GPUs in GB/s; 0 without NVLink.' }),
    gpuLanes: t.exposeInt('gpuLanes', { description: 'PCI Express lanes of each GPU.' }),
    gpuMaxTempCelsius: t.exposeFloat('gpuMaxTempCelsius', {
      description: 'Hottest of its GPUs lately, in degrees Celsius.',
    }),
    gpuDisplayActive: t.exposeBoolean('gpuDisplayActive', { description: 'Whether a display is attached to a GPU.' }),

    diskName: t.exposeString('diskName', { description: 'The disk as its maker names it.' }),
    diskMbps: t.exposeFloat('diskMbps', { description: 'Measured read bandwidth of the disk in MB/s.' }),
    diskGb: t.float({ description: 'Disk of the whole machine in GB.', resolve: ({ diskMb }) => diskMb / 1000 }),
    freeDiskGb: t.float({
      description: 'Disk that nobody rents, in GB.',
      resolve: ({ freeDiskMb }) => freeDiskMb / 1000,
    }),

    publicIp: t.exposeString('publicIp', { description: 'The address that its ports are reached at.' }),
    staticIp: t.exposeBoolean('staticIp', { description: 'Whether that address stays.' }),
    freePorts: t.exposeInt('freePorts', { description: 'Public ports that nobody rents.' }),
    downloadMbps: t.exposeFloat('downloadMbps', { description: 'Measured download bandwidth in Mb/s.' }),
    uploadMbps: t.exposeFloat('uploadMbps', { description: 'Measured upload bandwidth in Mb/s.' }),
    listedUntil: t.expose('listedUntil', {
      type: 'DateTime',
      description: 'When its host takes it off the market. No rental lasts longer.',
    }),
  }),
})

export const machineById = createLoader((context, ids: readonly number[]) =>
  context.services.machines.byIds(context.actor, ids),
)
