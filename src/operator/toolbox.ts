import { defineCommand, type OperatorCommand } from './command.ts'

export const toolboxCommands = {
  'toolbox build': defineCommand(
    {
      summary: 'Builds what real machines add to every container, such as its SSH server, from Debian packages.',
      options: {},
      isLocal: true,
    },
    () =>
      ({ toolbox }) =>
        toolbox.build(),
  ),
} satisfies Record<string, OperatorCommand>
