import { seedMarket } from '../../prisma/seed.ts'
import { type Command, defineCommand } from './command.ts'
import { parseWholeOption } from './options.ts'

export const marketCommands: Record<string, Command> = {
  'market generate': defineCommand(
    {
      summary: 'Fills the market with machines that do not exist.',
      options: {
        machines: { required: true, meaning: 'how many' },
        seed: { meaning: 'the same number gives the same machines; 1 when absent, as for the demo market' },
      },
      lock: 'market',
    },
    ({ machines, seed = '1' }) => {
      const size = { machines: parseWholeOption('machines', machines), seed: parseWholeOption('seed', seed) }
      return async operations => {
        await seedMarket(operations, size, progressBar(size.machines))
        return size
      }
    },
  ),
}

/** Drawn on a terminal only, and there on standard error: the result is all that standard output gets. */
function progressBar(total: number): (done: number) => void {
  if (!process.stderr.isTTY) return () => {}
  const width = 40
  return done => {
    const filled = Math.round((width * done) / total)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
    process.stderr.write(`\r${bar} ${done} of ${total} machines${done === total ? '\n' : ''}`)
  }
}
