import { expect } from 'vitest'
import { blocksOf } from '../../../src/domain/machines/machines.ts'
import type { Claim } from '../../../src/domain/machines/market.ts'
import type { Gateway } from '../gateways.ts'
import { expectedGrants, gpusOf, sharesGpu } from './claims.ts'

type Queryable = Pick<Gateway, 'sql'>

/** Invariants that hold at every instant. Each check is one statement, so that it sees one snapshot. */
export async function expectInvariants(gateway: Queryable, machineId: number, now: Date): Promise<void> {
  const active = `c.up_at IS NOT NULL AND (c.down_at IS NULL OR c.down_at > $2) AND c.exit_code IS NULL`
  const shared = await gateway.sql(
    `WITH active AS (
      SELECT i.* FROM simulated_containers c JOIN instances i ON i.id = c.instance_id WHERE i.machine_id = $1 AND ${active}
    ) SELECT a.id, b.id AS other FROM active a JOIN active b ON a.id < b.id
      AND a.first_gpu < b.first_gpu + b.num_gpus AND b.first_gpu < a.first_gpu + a.num_gpus`,
    [machineId, now],
  )
  expect(shared, 'containers that share a GPU').toEqual([])
  const unmarked = await gateway.sql(
    `SELECT i.id, g.index, g.occupant_id FROM simulated_containers c JOIN instances i ON i.id = c.instance_id
      JOIN gpus g ON g.machine_id = i.machine_id AND g.index >= i.first_gpu AND g.index < i.first_gpu + i.num_gpus
      WHERE i.machine_id = $1 AND ${active} AND g.occupant_id IS DISTINCT FROM i.id`,
    [machineId, now],
  )
  expect(unmarked, 'GPUs in use that are not marked as occupied').toEqual([])
  const torn = await gateway.sql(
    `SELECT i.id, i.num_gpus, count(*) FROM gpus g JOIN instances i ON i.id = g.holder_id WHERE g.machine_id = $1
      GROUP BY i.id HAVING count(*) <> i.num_gpus OR min(g.index) <> i.first_gpu`,
    [machineId],
  )
  expect(torn, 'instances that hold only a part of their block').toEqual([])
  const [room] = await gateway.sql(
    `SELECT disk_mb - free_disk_mb AS disk, last_port - first_port + 1 - free_ports AS ports,
      (SELECT coalesce(sum(disk_mb), 0)::int FROM instances i WHERE i.machine_id = m.id AND removed_at IS NULL) AS disk_used,
      (SELECT count(*)::int FROM port_bindings b WHERE b.machine_id = m.id) AS ports_used FROM machines m WHERE id = $1`,
    [machineId],
  )
  expect(room?.['disk'], 'reserved disk').toBe(room?.['disk_used'])
  expect(room?.['ports'], 'reserved ports').toBe(room?.['ports_used'])
}

/** Invariants that hold once every instance has converged. */
export async function expectConverged(gateway: Queryable, machineId: number): Promise<void> {
  const rows = await gateway.sql('SELECT * FROM instances WHERE machine_id = $1 AND removed_at IS NULL', [machineId])
  const gpus = await gateway.sql('SELECT * FROM gpus WHERE machine_id = $1 ORDER BY index', [machineId])
  const holds = (id: unknown) => gpus.some(gpu => gpu['holder_id'] === id)
  const claims = rows.filter(isClaim).map(row => claimOf(row, holds(row['id'])))
  const granted = expectedGrants(claims)
  const wanted = gpus.map(({ index }) => {
    const holder = granted.find(claim => gpusOf(claim).includes(index as number))
    return holder ? String(holder.instanceId) : null
  })
  expect(
    gpus.map(gpu => gpu['holder_id']),
    'holders',
  ).toEqual(wanted)
  expect(
    gpus.map(gpu => gpu['occupant_id']),
    'occupants',
  ).toEqual(wanted)
  for (const row of rows) expect([row['id'], row['status']]).toEqual([row['id'], statusOf(row, holds(row['id']))])
  const restarting = rows.filter(row => row['restart'] !== null && !isFinal(row) && row['destroyed_at'] === null)
  expect(
    restarting.filter(row => row['restart'] === 'recycle' || row['status'] === 'running'),
    'instances with a pending restart',
  ).toEqual([])
  await expectOffers(gateway, machineId, granted)
  await expectEvents(gateway, machineId)
}

type Row = Record<string, unknown>

const isFinal = ({ status }: Row) => ['exited', 'offline', 'unknown'].includes(status as string)
const isClaim = (row: Row) => row['target_state'] === 'running' && row['destroyed_at'] === null && !isFinal(row)

function statusOf(row: Row, holds: boolean): unknown {
  if (isFinal(row)) return row['status']
  if (row['target_state'] === 'running') return holds ? 'running' : 'scheduling'
  return row['status'] === 'created' ? 'created' : 'stopped'
}

function claimOf(row: Row, holdsGpus: boolean): Claim {
  return {
    instanceId: BigInt(row['id'] as string),
    firstGpu: row['first_gpu'] as number,
    numGpus: row['num_gpus'] as number,
    interruptible: row['interruptible'] as boolean,
    gpuPriceNanos: BigInt(row['gpu_price_nanos'] as string),
    claimedAt: row['claimed_at'] as Date,
    holdsGpus,
  }
}

async function expectOffers(gateway: Queryable, machineId: number, granted: Claim[]): Promise<void> {
  const offers = await gateway.sql(
    'SELECT first_gpu, num_gpus FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL AND rentable',
    [machineId],
  )
  const rentable = blocksOf(8).filter(block => granted.every(claim => claim.interruptible || !sharesGpu(claim, block)))
  const print = (blocks: [unknown, unknown][]) => blocks.map(block => block.join(' + ')).sort()
  expect(print(offers.map(offer => [offer['first_gpu'], offer['num_gpus']])), 'blocks on the market').toEqual(
    print(rentable.map(({ firstGpu, numGpus }) => [firstGpu, numGpus])),
  )
}

/** Every status change of an instance starts at the status of the change before. */
async function expectEvents(gateway: Queryable, machineId: number): Promise<void> {
  const broken = await gateway.sql(
    `WITH changes AS (
      SELECT i.id, i.status, e.after->>'status' AS after, e.before->>'status' AS before,
        lag(e.after->>'status', 1, 'created') OVER (PARTITION BY i.id ORDER BY e.id) AS last,
        row_number() OVER (PARTITION BY i.id ORDER BY e.id DESC) AS age
      FROM instances i LEFT JOIN events e ON e.instance_id = i.id AND e.kind = 'INSTANCE_STATUS_CHANGED'
      WHERE i.machine_id = $1
    ) SELECT * FROM changes WHERE before <> last OR (age = 1 AND status::text <> coalesce(after, 'created'))`,
    [machineId],
  )
  expect(broken, 'status changes that the events do not show').toEqual([])
}

/** Invariants that hold after every instance was destroyed. */
export async function expectEverythingFree(gateway: Queryable, machineId: number): Promise<void> {
  const [row] = await gateway.sql(
    `SELECT disk_mb - free_disk_mb AS disk, last_port - first_port + 1 - free_ports AS ports,
      (SELECT count(*)::int FROM gpus g WHERE g.machine_id = m.id AND (holder_id, occupant_id) IS NULL) AS gpus,
      (SELECT count(*)::int FROM instances i WHERE i.machine_id = m.id AND removed_at IS NULL) AS instances,
      (SELECT count(*)::int FROM simulated_containers) AS containers,
      (SELECT count(*)::int FROM offers o WHERE o.machine_id = m.id AND rentable
        AND min_bid_nanos = min_bid_gpu_nanos * o.num_gpus) AS offers,
      (SELECT count(*)::int FROM offers o WHERE o.machine_id = m.id AND rentable AND leads) AS leaders
    FROM machines m WHERE id = $1`,
    [machineId],
  )
  expect(row).toEqual({ disk: 0, ports: 0, gpus: 8, instances: 0, containers: 0, offers: 15, leaders: 4 })
}
