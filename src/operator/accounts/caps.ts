import type { SpendLimit } from '../../domain/billing/spend-limit.ts'
import { printUsd } from '../../domain/money.ts'
import { defineCommand, type OperatorCommand } from '../command.ts'
import { parseAmountOption } from '../options.ts'
import { nameOptions, parseAccountOption } from './name.ts'

export const capCommands = {
  'account cap': defineCommand(
    {
      summary:
        'Caps what an account may spend per hour, day or month. The renter reads the caps and cannot lift them. "none" removes one.',
      options: {
        ...nameOptions,
        hour: { meaning: 'most that the account may cost per hour, in US dollars' },
        day: { meaning: 'most that it may spend on a day, UTC' },
        month: { meaning: 'most that it may spend in a calendar month, UTC' },
        'stop-running': {
          flag: true,
          meaning:
            'also stop what runs once a cap of this command is reached (default: only refuse what would cost more)',
        },
      },
    },
    ({ hour, day, month, 'stop-running': stops, account }) => {
      const name = parseAccountOption(account)
      const given = Object.entries({ hour, day, month }).flatMap(([window, text]) =>
        text === undefined ? [] : [[window, text === 'none' ? null : parseAmountOption(window, text)] as const],
      )
      if (given.length === 0) throw new Error('No cap is given. Give at least one of --hour, --day, --month.')
      return async ({ caps }) => {
        const { account: email, limits } = await caps.set(
          name,
          Object.fromEntries(given),
          stops ? 'stop_running' : 'block_new',
        )
        return { account: email, caps: presentCaps(limits) }
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

/** By the time that they are about. */
export function presentCaps(caps: readonly SpendLimit[]) {
  return Object.fromEntries(
    caps.map(({ window, amountNanos, action, reachedAt }) => [
      window,
      { amount: printUsd(amountNanos), stopsRunning: action === 'stop_running', reachedAt },
    ]),
  )
}
