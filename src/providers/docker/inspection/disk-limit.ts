import type { EngineClient } from '../engine/client.ts'
import { writeTar } from '../engine/tar.ts'
import { kindOf } from '../failures.ts'
import { withProbe } from './probe.ts'

/** As `/info` names where the engine has its containers. */
export type Storage = { DriverStatus?: [name: string, value: string][] | null }

/** Images of containerd, the default of new engines since Docker 29: the engine takes a limit, and ignores it. */
const ignoringDriver = 'io.containerd.snapshotter.v1'
const diskBytes = 10_000_000_000

/** Whether the engine limits the disk of a container. It depends on the file system, so a container is made, and not started. */
export async function canLimitDisks(client: EngineClient, { DriverStatus }: Storage): Promise<boolean> {
  if (DriverStatus?.some(([, value]) => value === ignoringDriver)) return false
  const files = writeTar([{ path: 'probe', mode: 0o444, content: '' }])
  return await withProbe(client, files, async (name, signal) => {
    const HostConfig = { NetworkMode: 'none', StorageOpt: { size: String(diskBytes) } }
    const json = { Image: `${name}:1`, Cmd: ['/probe'], HostConfig }
    try {
      await client.call('POST', '/containers/create', { query: { name }, json, signal })
      return true
    } catch (error) {
      if (kindOf(error) === 'noDiskLimit') return false
      throw error
    }
  })
}
