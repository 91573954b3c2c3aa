// Where a gateway keeps what it stores on its machine.

import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * An API key works in one database, and a data folder may serve several. The name leaves out the URL's user and
 * password, which do not distinguish databases.
 */
export function demoKeyFileName(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return 'demo-key'
  const [, database = ''] = /^postgres(?:ql)?:\/\/(?:[^/]*@)?(.*)$/.exec(databaseUrl) ?? []
  return `demo-key-${createHash('sha256').update(database).digest('hex').slice(0, 12)}`
}

export function defaultDataDir(env: Record<string, string | undefined>): string {
  if (process.getuid?.() === 0) return '/var/lib/berth'
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'Berth')
  if (process.platform === 'darwin') return join(homedir(), 'Library/Application Support/Berth')
  return join(env['XDG_DATA_HOME'] ?? join(homedir(), '.local/share'), 'berth')
}
