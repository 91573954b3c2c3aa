// What the token of an invitation shows before a host uses it: the machine that the host is to be.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, float8, int4, text } from '../../../database/row-types.ts'
import { DomainError } from '../../../domain/errors.ts'
import { inviteTokenRefusal } from '../../../domain/machines/agents.ts'
import type { DataDeps } from '../../deps.ts'
import { hashOf } from './secrets.ts'

const { sql } = Prisma

const row = {
  ...{ machineId: int4, publicIp: text, firstPort: int4, lastPort: int4 },
  ...{ downloadMbps: float8, uploadMbps: float8, allowsUnreachablePorts: bool },
}

export type Invited = Awaited<ReturnType<ReturnType<typeof invitedServices>['findInvited']>>

export function invitedServices({ database }: DataDeps) {
  return {
    /** The token stays good. */
    async findInvited(token: string) {
      const [invited] = await database.query(
        sql`SELECT m.id AS machine_id, m.public_ip, m.first_port, m.last_port, m.download_mbps, m.upload_mbps,
            i.allows_unreachable_ports
          FROM host_invites i JOIN machines m ON m.id = i.machine_id
          WHERE i.token_hash = ${hashOf(token)} AND i.expires_at > ${database.nowSql}`,
        row,
      )
      if (invited) return invited
      throw new DomainError('UNAUTHENTICATED', inviteTokenRefusal)
    },
  }
}
