import { Prisma } from '../../database/generated/client.ts'
import { columnsOf } from '../../database/selection/columns.ts'
import type { Source } from '../../database/selection/reading.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { Deps } from '../deps.ts'
import { wholeMachine } from '../machines/source.ts'
import { visibleSql } from '../templates/templates.ts'
import { volumeSource } from '../volumes/volumes.ts'
import { holdsGpusSql, isChargedSql, isSimulatedSql, replacedByIdSql } from './sql.ts'

const { sql } = Prisma

const machineJoin = sql`JOIN machines m ON m.id = i.machine_id`
const gpuModelJoin = sql`JOIN gpu_models g ON g.id = m.gpu_model_id`

/** Where statements of instances `i` have the rows of a selection. */
export function instanceSource(
  { sshProxy, notebookProxy }: Pick<Deps, 'sshProxy' | 'notebookProxy'>,
  nowSql: Prisma.Sql,
): Source<Instance> {
  // Only a stream computes the bid to beat beforehand.
  const known = { sshProxy, notebookProxy, minimumBidNanos: undefined }
  const offer = { ...offerPlace, computed: { asOf: nowSql } }
  return {
    model: 'Instance',
    alias: 'i',
    computed: {
      ...{ charged: isChargedSql, holdsGpus: holdsGpusSql, simulated: isSimulatedSql },
      ...{ replacedById: replacedByIdSql, asOf: nowSql },
    },
    known,
    relations: { machine, template, offer, portBindings, volumes },
  }
}

const machine = {
  model: 'Machine',
  alias: 'm',
  join: machineJoin,
  fromRoot: true,
  relations: { gpuModel: { model: 'GpuModel', alias: 'g', join: gpuModelJoin } },
} as const

/** The rented offer. Its machine is that of the instance. */
const offerPlace = {
  model: 'Offer',
  alias: 'o',
  join: sql`JOIN offers o ON o.id = i.offer_id`,
  relations: { machine },
} as const

/** In its current version. Null if it is deleted, or not the renter's own and not visible to the renter. */
const template = {
  model: 'Template',
  alias: 't',
  join: sql`LEFT JOIN templates t ON t.id = i.template_id AND ${visibleSql(sql`i.account_id`)}`,
  optional: true,
} as const

const portBindings = {
  model: 'PortBinding',
  alias: 'b',
  from: sql`port_bindings b`,
  where: sql`b.instance_id = i.id AND b.machine_id = i.machine_id`,
  order: sql`b.container_port, b.host_port`,
} as const

/** A volume of an instance that is not destroyed is not deleted, and belongs to its account: the database holds that. */
const volumes = {
  model: 'VolumeAttachment',
  alias: 'a',
  from: sql`volume_attachments a`,
  where: sql`a.instance_id = i.id AND a.released_at IS NULL AND i.destroyed_at IS NULL`,
  order: sql`a.mount_path`,
  computed: { sizeMb: { sql: sql`(SELECT v.size_mb FROM volumes v WHERE v.id = a.volume_id)`, decode: Number } },
  relations: { volume: { ...volumeSource, join: sql`JOIN volumes v ON v.id = a.volume_id` } },
} as const

const { registryLogin: _, secretEnv: __, replaceSearch: ___, ...readableFields } = Prisma.InstanceScalarFieldEnum

/** Selects all of an instance but its secrets. */
export const wholeInstance = {
  ...columnsOf(readableFields),
  charged: true,
  holdsGpus: true,
  simulated: true,
  replacedById: true,
  sshProxy: true,
  notebookProxy: true,
  asOf: true,
  portBindings: { select: { hostPort: true, containerPort: true, protocol: true } },
  volumes: { select: { volumeId: true, mountPath: true, sizeMb: true } },
  machine: { select: wholeMachine },
} as const
