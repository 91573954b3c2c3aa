import { defineCommand, type OperatorCommand } from './command.ts'

const backupFile = { meaning: 'The file of the backup.', required: true, operand: true } as const

export const databaseCommands = {
  backup: defineCommand(
    {
      summary: 'Writes a backup of the database into a file that only you can read. Gateways may run meanwhile.',
      options: { file: backupFile },
      notes: () => 'Keep BERTH_SECRET, or the file "secret" of the data folder, too: a backup is of no use without it.',
      isLocal: true,
    },
    ({ file }) =>
      ({ backups }) =>
        backups.write(file),
  ),
  restore: defineCommand(
    {
      summary: 'Puts a backup into an empty database, all of it or nothing. Stop all gateways before.',
      options: {
        file: backupFile,
        replace: { meaning: 'Delete what the database has, and put the backup in its place.', flag: true },
        check: { meaning: 'Only read the file, and check it and the secret. Needs no database.', flag: true },
      },
      notes: () => 'Event cursors expire, and all instances are looked at anew: see docs/operating.md.',
      isLocal: true,
    },
    ({ file, replace, check }) => {
      if (replace && check) throw new Error('Give only one of --replace and --check.')
      return ({ backups }) => (check ? backups.check(file) : backups.restore(file, { replace }))
    },
  ),
  'upgrade-database': defineCommand(
    {
      summary: 'Moves the database of the data folder to the PostgreSQL that this version of Berth brings along.',
      options: {
        programs: { meaning: 'The folder with the programs of the older PostgreSQL. Looked for if you name none.' },
      },
      notes: () => 'The older database stays in a folder beside the new one. Event cursors expire.',
      isLocal: true,
    },
    ({ programs }) =>
      ({ backups }) =>
        backups.upgrade(programs),
  ),
  'database migrate': defineCommand(
    {
      summary: 'Migrates the database, and grants the roles berth_app and berth_metrics what they need if they exist.',
      options: {},
      notes: () => 'Every gateway does this as it starts, if its role owns the tables. No other command does.',
      migrates: true,
    },
    () =>
      ({ migrations }) => ({ migrations }),
  ),
} satisfies Record<string, OperatorCommand>
