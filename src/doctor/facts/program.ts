import { userInfo } from 'node:os'
import { findExistingRunUser, ownUser } from '../../database/embedded/run-user.ts'
import { toError } from '../../database/failure-codes.ts'
import type { DoctorSettings, Program } from '../settings.ts'
import type { ProgramFacts } from '../verdicts/program.ts'

type Settings = Pick<DoctorSettings, 'dataDir' | 'runAs'>

export async function gatherProgram(
  { version, findReadProblem }: Pick<Program, 'version' | 'findReadProblem'>,
  { dataDir, runAs }: Settings,
): Promise<ProgramFacts> {
  const isRoot = process.getuid?.() === 0
  const { versions, platform, arch } = process
  return {
    version,
    node: versions.node,
    platform: `${platform} ${arch}`,
    user: findUserName(),
    root: isRoot ? await findSuccessor() : undefined,
  }

  async function findSuccessor(): Promise<ProgramFacts['root']> {
    try {
      const user = await findExistingRunUser({ dataDir, runAs })
      return { user: user?.name ?? ownUser, runAs, problem: user && (await findReadProblem(user)) }
    } catch (error) {
      return { user: '', runAs, problem: toError(error).message }
    }
  }
}

/** A user of a container may have no name. */
function findUserName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
