import { readFile } from 'node:fs/promises'
import { maxConnections } from '../../http/limits/connections.ts'
import type { DoctorSettings } from '../settings.ts'
import { neededConnections } from '../verdicts/connections.ts'
import type { OpenFilesFacts } from '../verdicts/open-files.ts'

/** Limits of the SSH face and of the notebook face. Each of their connections has another one, to a machine. */
export type FaceLimits = { ssh: number; notebooks: number }

type Settings = Pick<DoctorSettings, 'ssh' | 'notebooks' | 'poolSize' | 'replica'>

export async function gatherOpenFiles(
  { ssh, notebooks, poolSize, replica }: Settings,
  faces: FaceLimits,
): Promise<OpenFilesFacts> {
  const clients = maxConnections + (ssh ? 2 * faces.ssh : 0) + (notebooks ? 3 * faces.notebooks : 0)
  const database = neededConnections({ poolSize, isPooled: false }) + (replica ? poolSize : 0)
  return { limit: await readLimit(), needs: { clients, database } }
}

/** Node has raised the soft limit of this process to the hard one, as it does for gateways. */
async function readLimit(): Promise<number | null> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, soft] = /^Max open files +(\S+)/m.exec(limits) ?? []
  if (soft === undefined) return null
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}
