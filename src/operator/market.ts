import { seedMarket } from '../../prisma/seed.ts'
import { defineCommand, type OperatorCommand } from './command.ts'
import { parseWholeOption } from './options.ts'

export const marketCommands = {
  'market generate': defineCommand(
    {
      summary: 'Adds simulated machines to the market. Each time it adds more, also with the same seed.',
      options: {
        machines: { required: true, meaning: 'number of machines to add' },
        seed: {
          meaning:
            'which machines: those of a seed are the same in every database, one after another (default: 1, as for the demo market)',
        },
      },
      lock: 'market',
    },
    ({ machines, seed = '1' }) => {
      const size = { machines: parseWholeOption('machines', machines), seed: parseWholeOption('seed', seed) }
      return async operations => {
        const total = await seedMarket(operations, size, progressBar(size.machines))
        return { seed: size.seed, added: size.machines, total }
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

/** Drawn only on a terminal, and on standard error: standard output carries the result alone. */
function progressBar(total: number): (done: number) => void {
  if (!process.stderr.isTTY) return () => {}
  const width = 40
  return done => {
    const filled = Math.round((width * done) / total)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
    process.stderr.write(`\r${bar} ${done} of ${total} machines${done === total ? '\n' : ''}`)
  }
}
