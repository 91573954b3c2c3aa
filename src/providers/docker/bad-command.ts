import { type Container, hasOwnEntrypoint } from './container.ts'
import type { Machine } from './machine.ts'
import { readStartOfRun } from './start-of-run.ts'

/** The codes of a shell for a command that it cannot run, or does not find. */
const codes = [126, 127]
const longestMs = 2_000

/**
 * Whether the container ended because its image does not have its command. The engine starts its own init process, which
 * then fails and says so. A program that ran longer cannot pretend that it did not.
 */
export async function lacksCommand(machine: Machine, container: Container, signal: AbortSignal): Promise<boolean> {
  const { ExitCode, StartedAt, FinishedAt } = container.State
  const isSudden = Date.parse(FinishedAt) - Date.parse(StartedAt) < longestMs
  if (!codes.includes(ExitCode) || !isSudden || hasOwnEntrypoint(container)) return false
  const { lines } = await readStartOfRun(machine, container, signal)
  return lines.some(({ source, text }) => source === 'stderr' && text.startsWith('[FATAL tini'))
}
