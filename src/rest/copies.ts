// What clients ask for that would move data in or out of instances. Nothing here does, so nothing pretends to.

import { z } from 'zod'
import { notFound } from '../domain/errors.ts'
import { RestFailure } from './errors.ts'
import { noSuchInstance } from './instances.ts'
import { notServed } from './not-served.ts'
import { type Route, route } from './route.ts'
import { pathId } from './values.ts'

const instead = 'Copy over SSH, with scp or rsync, or fetch from within the instance.'
const ahead = 'Run commands when you want them: with a scheduler of your own, or from within the instance.'
const snapshot =
  'An image is not made of an instance here. Push one from where you build it, and keep data on a volume.'

export const copyRoutes: Route[] = [
  copyRoute('PUT', '/api/v0/commands/copy_direct/', 'copyDirect', 'Copy between instances'),
  copyRoute('DELETE', '/api/v0/commands/copy_direct/', 'cancelCopyDirect', 'Stop a copy between instances'),
  copyRoute('PUT', '/api/v0/commands/rsync/', 'copyByRsync', 'Copy from or to another machine'),
  copyRoute('DELETE', '/api/v0/commands/rsync/', 'cancelCopyByRsync', 'Stop a copy from or to another machine'),
  copyRoute('POST', '/api/v0/commands/rclone/', 'copyByRclone', 'Copy from or to the storage of a cloud'),
  copyRoute(
    'DELETE',
    '/api/v0/commands/rclone/',
    'cancelCopyByRclone',
    'Stop a copy from or to the storage of a cloud',
  ),
  notServed({
    method: 'POST',
    path: '/api/v0/commands/schedule_job/',
    operationId: 'scheduleJob',
    tag: 'Instances',
    summary: 'Have a request sent later',
    operation: 'instances.execute',
    instead: ahead,
  }),
  route({
    method: 'POST',
    path: '/api/v0/instances/take_snapshot/{id}/',
    operationId: 'takeSnapshot',
    tag: 'Instances',
    summary: 'Make an image of an instance',
    about: `This is not offered. ${snapshot}`,
    operation: 'instances.execute',
    params: z.object({ id: pathId('The instance.') }),
    documentedBody: z.looseObject({}).describe('It is not read.'),
    result: z.never().describe('It never works.'),
    failures: [{ status: 501, error: 'not_implemented', when: `Always. ${snapshot}` }, noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [instance] = await services.instances.byIds(actor, [id], 'instances.execute')
      if (!instance || instance.destroyedAt) throw notFound('Instance', id)
      throw new RestFailure(501, 'not_implemented', snapshot)
    },
  }),
]

function copyRoute(method: Route['method'], path: string, operationId: string, summary: string): Route {
  return notServed({ method, path, operationId, tag: 'Instances', summary, operation: 'instances.execute', instead })
}
