import { defineCommand, type OperatorCommand } from './command.ts'

export const databaseCommands = {
  'database migrate': defineCommand(
    {
      summary: 'Migrates the database, and grants the roles berth_app and berth_metrics what they need if they exist.',
      options: {},
      notes: () => 'Every command and gateway does this as it starts, if its role owns the tables.',
    },
    () =>
      ({ migrations }) => ({ migrations }),
  ),
} satisfies Record<string, OperatorCommand>
