// Loads everything that containers are made from, with decrypted secrets.

import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { bool, bytea, int4, int8, json, jsonb, nullable, type RowOf, textArray } from '../../database/row-types.ts'
import { type ContainerSpec, machineShareOf } from '../../domain/instances/containers.ts'
import type { LaunchConfig, PortBinding } from '../../domain/instances/instances.ts'
import { withNotebookToken } from '../../domain/instances/notebook.ts'
import { servedMode } from '../../domain/instances/ports.ts'
import { restoreSecrets } from '../../domain/launch/env.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import { instanceApiKey } from '../accounts/api-keys/identity.ts'
import { ownNotebookToken } from '../instances/notebooks/token.ts'
import { openJson, type Secrets } from '../secrets.ts'

const { sql } = Prisma

/** The public keys of the instance `i`, in the order of their ids. */
export const instanceSshKeysSql = sql`ARRAY(
  SELECT k.public_key FROM instance_ssh_keys a JOIN ssh_keys k ON k.id = a.ssh_key_id WHERE a.instance_id = i.id ORDER BY k.id)`

const specRow = {
  ...{ id: int8, accountId: int4, machineId: int4, vm: bool, firstGpu: int4, numGpus: int4, diskMb: int4 },
  ...{ launch: jsonb<LaunchConfig>(), machineGpus: int4, cpuCores: int4, cpuRamMb: int4 },
  ...{ registryLogin: nullable(bytea), secretEnv: nullable(bytea), ports: nullable(json<PortBinding[]>()) },
  attached: nullable(json<{ volumeId: string; mountPath: string }[]>()),
  sshKeys: textArray,
}

/** Loads the specs of instances in one statement. Each is decrypted as it is taken, so that a bad secret fails alone. */
export async function loadContainerSpecs(
  database: Database,
  secrets: Secrets,
  instanceIds: readonly bigint[],
): Promise<Map<bigint, () => ContainerSpec>> {
  const statement = sql`
    SELECT i.id, i.account_id, i.machine_id, i.vm, i.first_gpu, i.num_gpus, i.disk_mb, i.launch, m.num_gpus AS machine_gpus,
      m.cpu_cores, m.cpu_ram_mb, i.registry_login, i.secret_env, (
      SELECT json_agg(json_build_object('hostPort', host_port, 'containerPort', container_port, 'protocol', protocol))
      FROM port_bindings b WHERE b.instance_id = i.id
    ) AS ports, (
      SELECT json_agg(json_build_object('volumeId', volume_id::text, 'mountPath', mount_path) ORDER BY mount_path)
      FROM volume_attachments a WHERE a.instance_id = i.id AND a.released_at IS NULL
    ) AS attached, ${instanceSshKeysSql} AS ssh_keys
    FROM instances i JOIN machines m ON m.id = i.machine_id WHERE i.id = ANY(${instanceIds.map(String)}::bigint[])`
  const rows = await database.query(statement, specRow)
  return new Map(rows.map(row => [row.id, () => specOf(secrets, row)]))
}

function specOf(
  secrets: Secrets,
  { id: instanceId, firstGpu, numGpus, launch: config, registryLogin, secretEnv, ...row }: RowOf<typeof specRow>,
): ContainerSpec {
  const { accountId, machineId, vm, machineGpus, diskMb, ports, attached, sshKeys } = row
  const gpus = Array.from({ length: numGpus }, (_, index) => firstGpu + index)
  const values = openJson<Record<string, string>>(secrets, secretEnv) ?? {}
  const mode = servedMode(config.mode, ports ?? [])
  const env = withNotebookToken(mode, restoreSecrets(config.env, values), ownNotebookToken(secrets, instanceId))
  return {
    instanceId,
    accountId,
    machineId,
    vm,
    gpus,
    diskMb,
    share: machineShareOf({ ...row, numGpus: machineGpus }, numGpus),
    launch: { ...config, mode, env },
    ports: ports ?? [],
    volumes: (attached ?? []).map(({ volumeId, mountPath }) => ({ volumeId: BigInt(volumeId), mountPath })),
    registry: openJson<Registry>(secrets, registryLogin) ?? undefined,
    sshKeys,
    apiKey: instanceApiKey(secrets, instanceId),
  }
}
