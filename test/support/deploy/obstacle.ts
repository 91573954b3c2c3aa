import { engineObstacle } from '../engine/obstacle.ts'
import { findProgram } from '../failover/programs.ts'

/** Why images cannot be made and run on this machine. */
export function deployObstacle(...programs: string[]): string | undefined {
  const missing = ['mmdebstrap', ...programs].filter(program => !findProgram(program))
  return engineObstacle() ?? (missing.length > 0 ? `this machine has no ${missing.join(', ')}` : undefined)
}
