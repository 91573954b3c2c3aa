import type { Container } from '../../../src/providers/simulated/container.ts'
import type { SimulatedWorld } from '../../../src/providers/simulated/world.ts'

/** The world of the simulated provider, in memory. */
export function createMemoryWorld() {
  const rows = new Map<bigint, { container: Container; revision: string }>()
  const outages = new Set<number>()
  let revisions = 0
  const keep = (id: bigint, container: Container) => {
    revisions += 1
    rows.set(id, { container, revision: String(revisions) })
  }
  const world: SimulatedWorld = {
    async find(id) {
      const row = rows.get(id)
      return row && { ...row, isMachineOut: outages.has(row.container.machineId) }
    },
    async add({ instanceId, container }) {
      if (!rows.has(instanceId)) keep(instanceId, container)
    },
    async replace({ instanceId, container, revision }) {
      if (rows.get(instanceId)?.revision !== revision) return false
      keep(instanceId, container)
      return true
    },
    async remove(id) {
      rows.delete(id)
    },
    isMachineOut: async machineId => outages.has(machineId),
    idsOnMachine: async machineId =>
      [...rows].filter(([, { container }]) => container.machineId === machineId).map(([id]) => id),
  }
  return {
    world,
    /** Ends a running container from within. */
    exit(id: bigint, exitCode: number, now: Date): void {
      const container = rows.get(id)?.container
      if (!container?.upAt || container.upAt > now || container.downAt || container.made.script.fails) return
      keep(id, { ...container, exitCode: container.exitCode ?? exitCode, endsAt: null })
    },
    /** Makes the machine lose its container. */
    lose: (id: bigint) => void rows.delete(id),
    /** Starts or ends an outage of a machine. */
    setOut: (machineId: number, out: boolean) => void (out ? outages.add(machineId) : outages.delete(machineId)),
  }
}
