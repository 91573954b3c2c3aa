import type { Engine } from '../../domain/machines/engines.ts'
import { connectEngine, type EngineClient } from './engine/client.ts'

/** A machine that can be reached: its engine's settings, and a client of it. */
export type Machine = { engine: Engine; client: EngineClient }

export type EngineOf = (machineId: number, signal: AbortSignal) => Promise<Engine>
export type MachineOf = (machineId: number, signal: AbortSignal) => Promise<Machine>

/** Connects once to each engine, and again when its address or its certificates have changed. */
export function createMachines(engineOf: EngineOf): MachineOf {
  const connected = new Map<number, { key: string; client: EngineClient }>()
  return async (machineId, signal) => {
    signal.throwIfAborted()
    const engine = await engineOf(machineId, signal)
    const key = JSON.stringify([engine.url, engine.tls])
    const known = connected.get(machineId)
    if (known?.key === key) return { engine, client: known.client }
    const client = await connectEngine(engine, signal)
    connected.set(machineId, { key, client })
    return { engine, client }
  }
}
