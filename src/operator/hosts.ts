// Commands for a computer that joins as a host. They open no database: a gateway tells them what they need.

import { defineCommand, type OperatorCommand } from './command.ts'

export const hostCommands = {
  'host join': defineCommand(
    {
      summary:
        'Joins this computer as a host, with a token of "machine invite", and connects it until it is told to stop.',
      options: {
        gateway: { required: true, meaning: 'address of the gateways, such as https://berth.example.com' },
        token: { required: true, meaning: 'what "machine invite" has printed' },
        engine: { meaning: 'socket of the Docker Engine (default: unix:///var/run/docker.sock)' },
      },
      isLocal: true,
    },
    ({ gateway, token, engine = 'unix:///var/run/docker.sock' }) => {
      if (!/^unix:\/\/\/./.test(engine)) throw new Error(`--engine must be unix:///path/to/socket, not "${engine}".`)
      return ({ host }) => host.join({ gateway, token, engine }).then(() => ({ stopped: true }))
    },
  ),
  'host run': defineCommand(
    {
      summary: 'Connects this computer, which has joined as a host, until it is told to stop.',
      options: {},
      isLocal: true,
    },
    () =>
      ({ host }) =>
        host.run().then(() => ({ stopped: true })),
  ),
} satisfies Record<string, OperatorCommand>
