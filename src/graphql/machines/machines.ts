import type { Verification } from '../../domain/machines/machines.ts'
import { type Region as RegionShape, regionOf } from '../../domain/machines/regions.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { parseId, printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'
import './gpu-models.ts'
import { Host } from './hosts.ts'

export const VerificationStatus = enumOf<Verification>(
  'VerificationStatus',
  "Result of the operator's check of a machine.",
  {
    verified: 'Tested: the machine is what its description says.',
    unverified: 'Not tested by the operator yet.',
    deverified: 'Verified before, but the machine has failed since.',
  },
)

export const Region = enumOf<RegionShape>('Region', 'A region of the world. New values may be added.', {
  africa: 'Africa with its islands, but not Egypt.',
  asia: 'Asia from Georgia to Japan and Indonesia, but not the Middle East.',
  europe: 'Europe with Russia, Ukraine and Iceland, but not Turkey.',
  middleEast: 'From Egypt and Turkey to Iran and Oman.',
  northAmerica: 'North and Central America, the Caribbean and Greenland.',
  oceania: 'Australia, New Zealand and the islands of the Pacific.',
  southAmerica: 'South America with its islands.',
})

export const Machine = builder.prismaObject('Machine', {
  select: { id: true },
  description: "A host's computer. Each of its offers is a block of its GPUs.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the machine, such as `mch_42`.',
      resolve: ({ id }) => printId('Machine', id),
    }),
    host: t.field({
      type: Host,
      description: 'Host that lists the machine and sets its prices.',
      select: { hostId: true },
      resolve: ({ hostId }) => ({ id: hostId }),
    }),
    gpu: t.relation('gpuModel', { description: 'Model of all GPUs in the machine.' }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs in the whole machine.' }),
    reliability: t.exposeFloat('reliability', {
      description:
        'Reliability of the machine, 0 to 1: what its operator states, lowered by failed starts and by the time without an answer in the last 30 days.',
    }),
    verification: t.expose('verification', {
      type: VerificationStatus,
      description: 'Whether the operator has verified the machine.',
    }),
    country: t.exposeString('country', { description: 'Country of the machine: two letters, ISO 3166.' }),
    city: t.exposeString('city', { description: 'City of the machine, as its host states it.' }),
    region: t.field({
      type: Region,
      nullable: true,
      description: 'Region of the world of the country. Null if the country code is not in ISO 3166.',
      select: { country: true },
      resolve: ({ country }) => regionOf(country),
    }),
    datacenter: t.exposeBoolean('datacenter', { description: 'Whether the machine is in a data center.' }),
    vmsEnabled: t.exposeBoolean('vmsEnabled', {
      description: 'Whether the machine can run virtual machines in addition to containers.',
    }),
    limitsDisk: t.exposeBoolean('limitsDisk', {
      description:
        'Whether each instance can use only the disk that it was rented with. If false, instances of other accounts can fill the disk of the machine. Volumes have no such limit on real machines.',
    }),

    cpuName: t.exposeString('cpuName', { description: 'Name of the CPU, as its maker states it.' }),
    cpuArch: t.exposeString('cpuArch', { description: 'CPU architecture: `amd64` or `arm64`.' }),
    cpuCores: t.exposeInt('cpuCores', { description: 'Number of virtual cores of the whole machine.' }),
    cpuGhz: t.exposeFloat('cpuGhz', { description: 'CPU clock speed in GHz.' }),
    cpuRamGb: t.float({
      description: 'Main memory of the whole machine in GB.',
      select: { cpuRamMb: true },
      resolve: ({ cpuRamMb }) => cpuRamMb / 1000,
    }),
    cpuRamMb: t.exposeInt('cpuRamMb', { description: 'Main memory of the whole machine in MB: 1,000 are a GB.' }),
    hasAvx: t.exposeBoolean('hasAvx', { description: 'Whether the CPU has AVX instructions.' }),
    motherboard: t.exposeString('motherboard', { description: 'Name of the motherboard, as its maker states it.' }),
    osVersion: t.exposeString('osVersion', {
      nullable: true,
      description: 'Version of Ubuntu, such as "22.04". Null if the host does not state it.',
    }),

    driverVersion: t.exposeString('driverVersion', {
      description: 'Version of the GPU driver, such as "580.105.08".',
    }),
    cudaVersion: t.exposeString('cudaVersion', {
      nullable: true,
      description: 'Newest CUDA version that the driver supports, such as "12.8". Null for a machine without CUDA.',
    }),
    pciGeneration: t.exposeFloat('pciGeneration', { description: 'Generation of PCI Express, such as 4.' }),
    pcieGigabytesPerSecond: t.exposeFloat('pcieGigabytesPerSecond', {
      description: 'Measured bandwidth between CPU and GPU in GB/s (gigabytes).',
    }),
    nvlinkGigabytesPerSecond: t.exposeFloat('nvlinkGigabytesPerSecond', {
      description: 'NVLink bandwidth between GPUs in GB/s (gigabytes); 0 without NVLink.',
    }),
    gpuLanes: t.exposeInt('gpuLanes', { description: 'Number of PCI Express lanes of each GPU.' }),
    gpuMaxTempCelsius: t.exposeFloat('gpuMaxTempCelsius', {
      description: 'Highest recent temperature of any GPU in the machine, in degrees Celsius.',
    }),
    gpuDisplayActive: t.exposeBoolean('gpuDisplayActive', { description: 'Whether a display is attached to a GPU.' }),

    diskName: t.exposeString('diskName', { description: 'Name of the disk, as its maker states it.' }),
    diskReadMegabytesPerSecond: t.exposeFloat('diskReadMegabytesPerSecond', {
      description: 'Measured read bandwidth of the disk in MB/s (megabytes).',
    }),
    totalDiskGb: t.float({
      description: 'Disk size of the whole machine in GB.',
      select: { diskMb: true },
      resolve: ({ diskMb }) => diskMb / 1000,
    }),
    freeDiskGb: t.float({
      description: 'Disk space that is not rented, in GB.',
      select: { freeDiskMb: true },
      resolve: ({ freeDiskMb }) => freeDiskMb / 1000,
    }),

    publicIp: t.exposeString('publicIp', { description: 'Public IP address of the machine.' }),
    staticIp: t.exposeBoolean('staticIp', { description: 'Whether the public IP address is static.' }),
    freePorts: t.exposeInt('freePorts', { description: 'Number of public ports that are not rented.' }),
    downloadMbps: t.exposeFloat('downloadMbps', { description: 'Measured download bandwidth in Mb/s (megabits).' }),
    uploadMbps: t.exposeFloat('uploadMbps', { description: 'Measured upload bandwidth in Mb/s (megabits).' }),
    listedUntil: t.expose('listedUntil', {
      type: 'DateTime',
      description: 'When the host takes the machine off the market. No rental lasts longer.',
    }),
  }),
})

export const machineById = createSelectedLoader((context, ids: readonly number[], select) =>
  context.services.machines.byIds(context.actor, ids, select),
)

builder.queryField('machine', t =>
  t.field({
    type: Machine,
    nullable: true,
    description: 'A machine by ID, whether it is on the market or not. Null if there is no such machine.',
    requires: 'machines.get',
    args: { id: t.arg.id({ required: true, description: 'ID of the machine, such as `mch_42` or `42`.' }) },
    resolve: async (_root, { id }, context, info) => {
      const integer = parseId('Machine', id)
      // The database refuses to compare larger integers.
      return integer < 2n ** 31n ? await machineById(context, selectionOf(context, info)).load(Number(integer)) : null
    },
  }),
)
