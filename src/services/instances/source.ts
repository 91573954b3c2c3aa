import { Prisma } from '../../database/generated/client.ts'
import type { Source } from '../../database/selection/reading.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { Deps } from '../deps.ts'
import { columnsOf, wholeMachine } from '../machines/source.ts'
import { visibleSql } from '../templates/templates.ts'
import { holdsGpusSql, isChargedSql } from './sql.ts'

const { sql } = Prisma

/** The tables that conditions on instances `i` may need: machines `m`, and GPU models `g`. */
const machineJoin = sql`JOIN machines m ON m.id = i.machine_id`
const gpuModelJoin = sql`JOIN gpu_models g ON g.id = m.gpu_model_id`

/** Where statements of instances `i` have the rows of a selection. */
export function instanceSource({ sshProxy }: Pick<Deps, 'sshProxy'>, nowSql: Prisma.Sql): Source<Instance> {
  // Only a stream computes the bid to beat beforehand.
  const known = { sshProxy, minimumBidNanos: undefined }
  const offer = { ...offerPlace, computed: { asOf: nowSql } }
  return {
    model: 'Instance',
    alias: 'i',
    computed: { ...computed, asOf: nowSql },
    known,
    relations: { machine, template, offer },
  }
}

type Attachment = { volumeId: string; mountPath: string; sizeMb: number }

const computed = {
  charged: isChargedSql,
  holdsGpus: holdsGpusSql,
  portBindings: {
    sql: sql`(SELECT json_agg(json_build_object('hostPort', b.host_port, 'containerPort', b.container_port, 'protocol', b.protocol)
      ORDER BY b.container_port, b.host_port) FROM port_bindings b WHERE b.instance_id = i.id AND b.machine_id = i.machine_id)`,
    decode: (bindings: unknown) => bindings ?? [],
  },
  volumes: {
    sql: sql`(SELECT json_agg(json_build_object('volumeId', a.volume_id::text, 'mountPath', a.mount_path, 'sizeMb', v.size_mb)
      ORDER BY a.mount_path) FROM volume_attachments a JOIN volumes v ON v.id = a.volume_id
      WHERE a.instance_id = i.id AND a.released_at IS NULL AND i.destroyed_at IS NULL)`,
    decode: (attachments: unknown) =>
      // The statement builds these objects.
      ((attachments ?? []) as Attachment[]).map(({ volumeId, ...mount }) => ({ volumeId: BigInt(volumeId), ...mount })),
  },
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

/** In its current version. Null if it is deleted, or no longer public and not the renter's own. */
const template = {
  model: 'Template',
  alias: 't',
  join: sql`LEFT JOIN templates t ON t.id = i.template_id AND ${visibleSql(sql`i.account_id`)}`,
  optional: true,
} as const

const { registryLogin: _, secretEnv: __, ...readableFields } = Prisma.InstanceScalarFieldEnum

/** Selects all of an instance but its secrets. */
export const wholeInstance = {
  ...columnsOf(readableFields),
  charged: true as const,
  holdsGpus: true as const,
  portBindings: true as const,
  volumes: true as const,
  sshProxy: true as const,
  asOf: true as const,
  machine: { select: wholeMachine },
}
