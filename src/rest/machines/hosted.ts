import { z } from 'zod'
import { mapInTurns } from '../../turns/in-turns.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { type Route, route } from '../route.ts'
import { pathId } from '../values.ts'
import { hostedMachineRow, hostedMachineSchema } from './hosted-row.ts'

const maxRows = 5_000

export const machineRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/machines/',
    operationId: 'listMachines',
    tag: 'Machines',
    summary: 'List the machines of a host',
    about: `Lists the machines of the account, oldest first, at most ${maxRows}.`,
    operation: 'machines.hosted',
    result: z.object({ machines: z.array(hostedMachineSchema).describe('The machines.') }),
    answer: async ({ services, actor }) => {
      const machines = await services.machines.hosted(actor, maxRows)
      return { machines: await mapInTurns(machines, hostedMachineRow) }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/machines/{id}/',
    operationId: 'getMachine',
    tag: 'Machines',
    summary: 'Get a machine of a host',
    about: 'Returns one machine of the account, in a list.',
    operation: 'machines.hosted',
    params: z.object({ id: pathId('ID of the machine.') }),
    result: z.array(hostedMachineSchema),
    failures: [documentedFailureOf('NOT_FOUND', 'The machine does not exist or belongs to another host.')],
    answer: async ({ services, actor, params: { id } }) => [
      hostedMachineRow(await services.machines.hostedById(actor, id)),
    ],
  }),
]
