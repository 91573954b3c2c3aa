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
/** `stays`: RUN_AS says that the gateway stays root. `problem`: why it cannot work as the user. */
type Successor = { user: string; stays: boolean; problem: string | undefined }

export function checkProgram({ version, node, platform, user, root }: ProgramFacts): Check[] {
  const found = `Berth ${version} on Node.js ${node} for ${platform}, as the user "${user}".`
  return [ok('program', found), ...(root ? [checkRoot(root)] : [])]
}

function checkRoot({ user, stays, problem }: Successor): Check {
  const advice = 'Set RUN_AS to an ordinary user, unless the gateway needs the rights of root.'
  if (stays) return warn('root', 'With RUN_AS=root, a gateway stays root.', advice)
  if (problem !== undefined) return failAs('root', problem, 'Set RUN_AS to an ordinary user.')
  return ok('root', `A gateway that root starts then works as the user "${user}".`)
}
