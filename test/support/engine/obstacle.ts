import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Why no engine can run on this machine. */
export function engineObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start one'
  const programs = ['dockerd', 'docker', 'docker-registry', 'iptables', 'ip', 'patchelf', 'ssh', 'scp']
  const missing = programs.filter(program => !isInstalled(program))
  return missing.length > 0 ? `this machine has no ${missing.join(', ')}` : undefined
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
