// The user that does the work when root starts Berth. PostgreSQL refuses to run as root, and a gateway needs root only to
// begin.

import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** `groups` are all groups of the user, such as one that may use a Docker Engine. */
export type RunUser = { name: string; uid: number; gid: number; groups: number[] }
/** `runAs` is the setting RUN_AS: the name of a user. */
export type RunUserOptions = { dataDir: string; runAs?: string | undefined }

const runFile = promisify(execFile)
/** Created if root starts Berth and names no other user. */
export const ownUser = 'berth'

/** Undefined unless root starts this process. The owner of an existing database goes on running it. */
export async function findRunUser(options: RunUserOptions): Promise<RunUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  return (await findExistingRunUser(options)) ?? (await createUser())
}

/** The user that does the work if root starts Berth; undefined if it is still to be created. */
export async function findExistingRunUser({ dataDir, runAs }: RunUserOptions): Promise<RunUser | undefined> {
  if (runAs !== undefined && runAs !== 'root') return await requireUser(runAs)
  return (await ownerOf(join(dataDir, 'postgres'))) ?? (await ownerOf(dataDir)) ?? (await findUser(ownUser))
}

async function requireUser(name: string): Promise<RunUser> {
  const user = await findUser(name)
  if (!user) throw new Error(`RUN_AS names the user "${name}", who does not exist. Create that user, or name another.`)
  if (isOrdinary(user)) return user
  throw new Error(`RUN_AS names the user "${name}", who has the rights of root. Name another user.`)
}

/** The owner of a file, if it is an ordinary user. */
async function ownerOf(path: string): Promise<RunUser | undefined> {
  const entry = await stat(path).catch(() => undefined)
  if (!entry || entry.uid === 0) return undefined
  const user = await findUser(String(entry.uid))
  return user && isOrdinary(user) ? user : undefined
}

function isOrdinary({ uid, groups }: RunUser): boolean {
  return uid !== 0 && !groups.includes(0)
}

/** `user` is a name or an id. Undefined if there is no such user. */
async function findUser(user: string): Promise<RunUser | undefined> {
  const ask = async (flag: string) => (await runFile('id', [flag, '--', user])).stdout.trim()
  try {
    const groups = (await ask('-G')).split(' ').map(Number)
    return { name: await ask('-nu'), uid: Number(await ask('-u')), gid: Number(await ask('-g')), groups }
  } catch {
    return undefined
  }
}

async function createUser(): Promise<RunUser> {
  await runFile('useradd', ['--system', '--user-group', '--no-create-home', ownUser]).catch(() => {})
  // Another process may have created the user meanwhile.
  const user = await findUser(ownUser)
  if (user) return user
  const advice = 'Create it, set RUN_AS to another user, or start Berth as an ordinary user.'
  throw new Error(`Berth does not work as root, and the user "${ownUser}" could not be created. ${advice}`)
}
