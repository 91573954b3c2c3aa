import { gpuAccesses } from '../domain/machines/engines.ts'
import { defineCommand, type OperatorCommand } from './command.ts'
import { parseDurationOption, parseIdOption } from './options.ts'

export const inviteCommands = {
  'machine invite': defineCommand(
    {
      summary:
        'Prints a token with which one computer joins as the machine: "host join". The key that its host has now ends.',
      options: {
        id: { required: true, meaning: 'id of the machine, as "machine list" prints it' },
        expires: { meaning: 'how long the token is valid, such as 30m, 1h or 2d (default: 1h)' },
        'gpu-access': { meaning: `${gpuAccesses.join(', ')} (default: what the host has; none must be allowed here)` },
        'allow-unreachable-ports': {
          flag: true,
          meaning: 'let the host join even if the gateway cannot reach the public ports of the machine',
        },
      },
    },
    ({ id, expires = '1h', 'gpu-access': access, 'allow-unreachable-ports': allowsUnreachablePorts }) => {
      const machineId = parseIdOption('Machine', 'id', id)
      const validMs = parseDurationOption('expires', expires)
      const gpuAccess = gpuAccesses.find(name => name === access) ?? null
      if (access !== undefined && gpuAccess === null)
        throw new Error(`--gpu-access must be one of ${gpuAccesses.join(', ')}, not "${access}".`)
      const invitation = { gpuAccess, validMs, allowsUnreachablePorts }
      return async ({ machines }) => ({ id: machineId, ...(await machines.invite(machineId, invitation)) })
    },
  ),
} satisfies Record<string, OperatorCommand>
