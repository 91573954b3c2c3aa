// Decides who may log in to which instance over the gateway's own SSH server. A login has no API key: its permission is
// that its public key is attached to the instance.

import { createHash } from 'node:crypto'
import { Prisma } from '../../../database/generated/client.ts'
import { bool, enumeration, int4, int8, jsonb } from '../../../database/row-types.ts'
import type { OwnedContainerRef } from '../../../domain/instances/containers.ts'
import type { LaunchConfig } from '../../../domain/instances/instances.ts'
import { parseSshUser, sshEnding, sshRefusal } from '../../../domain/instances/ssh.ts'
import type { InstanceStatus, TargetState } from '../../../domain/instances/states.ts'
import { fingerprintOf } from '../../accounts/ssh-keys/create.ts'
import type { DataDeps } from '../../deps.ts'

const { sql } = Prisma

/** A login that was allowed: an instance and its account, and the public key that proved it. */
export type SshLogin = { accountId: number; instanceId: bigint; fingerprint: string }
/** What a login can do now. `refusal` says why its instance cannot be used, and what to do. */
export type SshAccess = { container: OwnedContainerRef; refusal: string | undefined }
export type SshLogins = ReturnType<typeof sshLoginServices>

/** Whether an operator has disabled the account of an instance `i`. */
const isDisabledSql = sql`EXISTS (SELECT FROM accounts a WHERE a.id = i.account_id AND a.disabled_at IS NOT NULL)`

/** Attached to the instance and not deleted. In args mode no key is: there any key of the account learns that. */
const isKeySql = sql`k.account_id = i.account_id AND k.deleted_at IS NULL AND (
  EXISTS (SELECT FROM instance_ssh_keys a WHERE a.instance_id = i.id AND a.ssh_key_id = k.id)
  OR (NOT i.vm AND i.launch ->> 'mode' = 'args'))`

export function sshLoginServices({ database }: DataDeps) {
  return {
    /**
     * The login of a user name with a public key; undefined if it is not allowed. The caller must check the signature.
     * Without a key, takes as long as with one.
     */
    async find(user: string, publicKey: Uint8Array | undefined): Promise<SshLogin | undefined> {
      const instanceId = parseSshUser(user)
      const fingerprint = fingerprintOf(publicKey ?? createHash('sha256').update(user).digest())
      const access = await readAccess({ instanceId: instanceId ?? 0n, fingerprint })
      if (!access || instanceId === undefined) return undefined
      return { accountId: access.container.accountId, instanceId, fingerprint }
    },

    /** What a login can do now; undefined if its key is no longer allowed. */
    access: readAccess,

    /** Which logins must end, by their index, and why. */
    async findEnded(logins: readonly SshLogin[]): Promise<Map<number, string>> {
      if (logins.length === 0) return new Map()
      const rows = await database.query(
        sql`SELECT t.n::int AS index, i.id, i.destroyed_at IS NOT NULL AS is_destroyed,
          ${isDisabledSql} AS is_disabled,
          EXISTS (SELECT FROM ssh_keys k WHERE k.fingerprint = t.fingerprint AND ${isKeySql}) AS has_key
        FROM unnest(${logins.map(login => String(login.instanceId))}::bigint[], ${logins.map(login => login.fingerprint)}::text[])
          WITH ORDINALITY AS t(id, fingerprint, n)
        JOIN instances i ON i.id = t.id`,
        { index: int4, id: int8, isDestroyed: bool, isDisabled: bool, hasKey: bool },
      )
      const endings = rows.map(({ index, id, ...facts }) => [index - 1, sshEnding(id, facts)] as const)
      return new Map(endings.filter((ending): ending is [number, string] => ending[1] !== undefined))
    },
  }

  async function readAccess({
    instanceId,
    fingerprint,
  }: Pick<SshLogin, 'instanceId' | 'fingerprint'>): Promise<SshAccess | undefined> {
    const [found] = await database.query(
      sql`SELECT i.id, i.account_id, i.machine_id, i.status, i.target_state, i.destroyed_at IS NOT NULL AS is_destroyed, i.vm,
        ${isDisabledSql} AS is_disabled,
        i.launch -> 'mode' AS mode
      FROM instances i JOIN ssh_keys k ON k.fingerprint = ${fingerprint} AND ${isKeySql}
      WHERE i.id = ${String(instanceId)}::bigint`,
      {
        ...{
          id: int8,
          accountId: int4,
          machineId: int4,
          status: enumeration<InstanceStatus>(),
          targetState: enumeration<TargetState>(),
        },
        ...{ isDestroyed: bool, isDisabled: bool, vm: bool, mode: jsonb<LaunchConfig['mode']>() },
      },
    )
    if (!found) return undefined
    const { accountId, machineId } = found
    return { container: { machineId, instanceId, accountId }, refusal: sshRefusal(found) }
  }
}
