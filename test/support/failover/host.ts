// A host with an agent, whose containers are kept outside of the cluster: they outlive what the cluster forgets.

import pg from 'pg'
import { createDatabase } from '../database/database.ts'
import { startHosts } from '../machines/host-processes.ts'
import { newHostKey } from '../machines/hosts.ts'
import { startTcpBalancer } from '../machines/tcp-balancer.ts'
import type { FailoverSite } from './site.ts'

export type OutsideHost = Awaited<ReturnType<typeof startOutsideHost>>

type Site = Pick<FailoverSite, 'operations' | 'fleet'>

export async function startOutsideHost({ operations, fleet }: Site, machineId: number) {
  const world = await createDatabase()
  const pool = new pg.Pool({ connectionString: world.url, max: 2, application_name: 'test' })
  const balancer = await startTcpBalancer()
  balancer.use(fleet.urls())
  const key = await newHostKey(operations, balancer.url, machineId)
  const agent = await startHosts({ gateway: balancer.url, keys: [key], database: world.url, delay: 0.03 })
  return {
    /** From now on, the host finds these gateways. */
    use: balancer.use,
    /** The instances that have a container, and whether it runs. */
    async containers(): Promise<Record<string, boolean>> {
      const { rows } = await pool.query(
        `SELECT instance_id AS id, up_at <= now() AND (down_at IS NULL OR down_at > now()) AND exit_code IS NULL AS runs
        FROM simulated_containers ORDER BY id`,
      )
      return Object.fromEntries(rows.map(({ id, runs }) => [id, runs === true]))
    },
    async close(): Promise<void> {
      agent.child.kill('SIGKILL')
      await agent.exit
      await balancer.close()
      await pool.end()
      await world.drop()
    },
  }
}
