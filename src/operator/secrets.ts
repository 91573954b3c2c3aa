import { defineCommand, type OperatorCommand } from './command.ts'

export const secretCommands = {
  'secret change': defineCommand(
    {
      summary: 'Seals everything in the database with BERTH_NEW_SECRET instead of BERTH_SECRET. No gateway may run.',
      options: {
        leaked: {
          flag: true,
          meaning: 'also end what was derived from the old secret: keys of instances, tokens of notebooks, links',
        },
      },
      notes: () =>
        [
          'Without BERTH_SECRET, the secret of the data folder is replaced by a new random one.',
          'A command that was interrupted has changed nothing, or everything: run it again with the same settings.',
          'Then start the gateways with the new secret. Keep the old one as long as backups from before.',
        ].join('\n'),
      lock: 'migration',
    },
    ({ leaked }) =>
      ({ secret }) =>
        secret.change(leaked),
  ),
} satisfies Record<string, OperatorCommand>
