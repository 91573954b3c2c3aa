// Commands that connect machines with the container engines that run what is rented on them.

import { readFileSync } from 'node:fs'
import { invalidInput } from '../domain/errors.ts'
import { type EngineTls, type GpuAccess, gpuAccesses } from '../domain/machines/engines.ts'
import { warningsOf } from '../domain/machines/inspection.ts'
import { defineCommand, type OperatorCommand } from './command.ts'
import { parseIdOption } from './options.ts'

const pem = (what: string) => ({ meaning: `file with ${what}, as PEM; needed for tcp://` })

export const engineCommands = {
  'machine connect': defineCommand(
    {
      summary: 'Runs what is rented on a machine on a Docker Engine. The machine must be empty.',
      options: {
        id: { required: true, meaning: 'id of the machine, as "machine list" prints it' },
        engine: { required: true, meaning: 'unix:///var/run/docker.sock, or tcp://host:2376' },
        'gpu-access': { required: true, meaning: `${gpuAccesses.join(', ')}; with none, containers get no GPUs` },
        'gpu-uuids': { meaning: 'UUIDs of the GPUs in the order of their numbers, as GPU-1f…,GPU-2a…' },
        ca: pem("the authority of the engine's certificate"),
        cert: pem("the gateway's certificate"),
        key: pem("the key of the gateway's certificate"),
      },
    },
    ({ id, engine: url, 'gpu-access': access, 'gpu-uuids': uuids = '', ca, cert, key }) => {
      const machineId = parseIdOption('Machine', 'id', id)
      const tls = readTls(url, { ca, cert, key })
      const gpuAccess = gpuAccesses.find(name => name === access)
      if (!gpuAccess) throw new Error(`--gpu-access must be one of ${gpuAccesses.join(', ')}, not "${access}".`)
      const gpuUuids = parseUuids(gpuAccess, uuids)
      return async ({ engines, findFirewallGaps }) => {
        const facts = await engines.connect(machineId, { url, tls, gpuAccess, gpuUuids })
        const warnings = [...warningsOf(facts), ...(await findFirewallGaps({ url, tls }))]
        return { id: machineId, engine: url, gpuAccess, ...facts, warnings }
      }
    },
  ),
  'machine disconnect': defineCommand(
    {
      summary: 'Takes the engine of a machine away, which is simulated from then on. The machine must be empty.',
      options: { id: { required: true, meaning: 'id of the machine, as "machine list" prints it' } },
    },
    options => {
      const machineId = parseIdOption('Machine', 'id', options.id)
      return ({ engines }) => engines.disconnect(machineId).then(() => ({ id: machineId, engine: null }))
    },
  ),
} satisfies Record<string, OperatorCommand>

/** An engine that is reached over a network accepts anybody whose certificate it knows, and nobody else. */
function readTls(url: string, files: Record<keyof EngineTls, string | undefined>): EngineTls | null {
  const given = Object.entries(files).filter(([, file]) => file !== undefined)
  if (/^unix:\/\/\/./.test(url)) {
    if (given.length > 0) throw new Error('--ca, --cert and --key are for engines at tcp://.')
    return null
  }
  if (!/^tcp:\/\/[^/\s]+:\d+$/.test(url))
    throw new Error(`--engine must be unix:///path/to/socket or tcp://host:port, not "${url}".`)
  if (given.length < 3) throw new Error('An engine at tcp:// needs --ca, --cert and --key.')
  return Object.fromEntries(given.map(([name, file]) => [name, readPem(name, file ?? '')])) as EngineTls
}

function readPem(option: string, file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new Error(`--${option} cannot be read: ${file}.`)
  }
  if (text.includes('-----BEGIN')) return text
  throw invalidInput([{ path: option, message: `is not a PEM file: ${file}.` }])
}

function parseUuids(access: GpuAccess, text: string): string[] {
  const uuids = text.split(',').filter(uuid => uuid !== '')
  if ((access === 'none') !== (uuids.length === 0))
    throw new Error(access === 'none' ? '--gpu-uuids needs --gpu-access nvidia or cdi.' : '--gpu-uuids is missing.')
  const wrong = uuids.find(uuid => !/^[A-Za-z0-9-]{4,80}$/.test(uuid))
  if (wrong !== undefined) throw new Error(`--gpu-uuids must be UUIDs, such as GPU-1f…, not "${wrong}".`)
  return uuids
}
