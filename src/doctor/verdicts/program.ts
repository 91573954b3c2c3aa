import { type Check, failAs, ok, warn } from '../check.ts'

export type ProgramFacts = {
  version: string
  node: string
  /** Operating system and processor. */
  platform: string
  user: string
  /** What becomes of a gateway that root starts; undefined if this user is not root. */
  root: Successor | undefined
}
/** `problem`: why the gateway cannot work as the user, and stays root. It does not start if RUN_AS names the user. */
type Successor = { user: string; runAs: string | undefined; problem: string | undefined }

export function checkProgram({ version, node, platform, user, root }: ProgramFacts): Check[] {
  const found = `Berth ${version} on Node.js ${node} for ${platform}, as the user "${user}".`
  return [ok('program', found), ...(root ? [checkRoot(root)] : [])]
}

function checkRoot({ user, runAs, problem }: Successor): Check {
  const advice = 'Set RUN_AS to an ordinary user, unless the gateway needs the rights of root.'
  if (runAs === 'root') return warn('root', 'With RUN_AS=root, a gateway stays root.', advice)
  if (problem !== undefined) {
    const check = failAs('root', problem, 'Set RUN_AS to an ordinary user.')
    return runAs === undefined ? { ...check, state: 'warn' } : check
  }
  return ok('root', `A gateway that root starts then works as the user "${user}".`)
}
