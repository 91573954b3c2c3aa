import type { Engine } from '../../domain/machines/engines.ts'
import type { EngineFacts } from '../../domain/machines/inspection.ts'

export async function inspectEngine(engine: Engine): Promise<EngineFacts> {
  throw new Error(`Not yet: ${engine.url}`)
}
