import type { Engine, GpuAccess } from '../../../domain/machines/engines.ts'
import type { EngineFacts } from '../../../domain/machines/inspection.ts'
import { connectEngine } from '../engine/client.ts'
import { canLimitDisks, type Storage } from './disk-limit.ts'

/** What the engine says of itself. Lists that are empty may be absent. */
type Info = Storage & {
  ID: string
  NCPU: number
  MemTotal: number
  Architecture: string
  ServerVersion: string
  Runtimes?: Record<string, unknown>
  CDISpecDirs?: string[]
  SystemTime: string
}

const architectures: Record<string, string> = { x86_64: 'amd64', aarch64: 'arm64' }
const timeoutMs = 10_000

/** Asks an engine for its facts. */
export async function inspectEngine(engine: Pick<Engine, 'url' | 'tls'>): Promise<EngineFacts> {
  const signal = AbortSignal.timeout(timeoutMs)
  const client = await connectEngine(engine, signal)
  const info = await client.call<Info>('GET', '/info', { signal })
  const clockAheadMs = Date.parse(info.SystemTime) - Date.now()
  return {
    identity: info.ID,
    version: info.ServerVersion,
    cpuCores: info.NCPU,
    cpuRamMb: Math.round(info.MemTotal / 1_000_000),
    cpuArch: architectures[info.Architecture] ?? info.Architecture,
    gpuAccesses: gpuAccessesOf(info),
    limitsDisk: await canLimitDisks(client, info),
    clockAheadMs,
  }
}

function gpuAccessesOf({ Runtimes = {}, CDISpecDirs = [] }: Info): GpuAccess[] {
  const cdi = CDISpecDirs.length > 0 ? ['cdi' as const] : []
  return ['none', ...cdi, ...('nvidia' in Runtimes ? ['nvidia' as const] : [])]
}
