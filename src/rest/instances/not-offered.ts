import { notOfferedInstanceRoute, notOfferedRoute } from '../not-offered.ts'
import type { Route } from '../route.ts'

const copying = {
  operation: 'instances.execute' as const,
  instead: 'Berth copies nothing by itself: log in to the instance with SSH, and copy with scp, rsync or rclone there.',
}

export const instanceNotOfferedRoutes: Route[] = [
  notOfferedInstanceRoute({
    method: 'PUT',
    path: '/api/v0/instances/prepay/{id}/',
    operationId: 'prepayInstance',
    summary: 'Pay for an instance ahead',
    operation: 'instances.update',
    instead:
      'Everything is paid from the credit of the account as it is used, and there are no discounts for deposits: add credit instead.',
  }),
  notOfferedInstanceRoute({
    method: 'GET',
    path: '/api/v0/instances/balance/{id}/',
    operationId: 'getInstanceBalance',
    summary: 'Get what was paid for an instance ahead',
    operation: 'instances.get',
    instead: 'Nothing is paid ahead for one instance: the credit of the account is at /api/v0/users/current/.',
  }),
  notOfferedInstanceRoute({
    method: 'POST',
    path: '/api/v0/instances/take_snapshot/{id}/',
    operationId: 'takeSnapshot',
    summary: 'Make an image of an instance',
    operation: 'instances.execute',
    instead: 'Berth makes no images: keep what must last on a volume, or build an image elsewhere.',
  }),
  notOfferedRoute({
    method: 'POST',
    path: '/api/v0/commands/schedule_job/',
    operationId: 'scheduleJob',
    summary: 'Have a request sent later',
    operation: 'instances.execute',
    instead: 'Run commands when you want them: with a scheduler of your own, or from within the instance.',
  }),
  ...(['PUT', 'DELETE'] as const).flatMap(method =>
    (['copy_direct', 'rsync'] as const).map(name =>
      notOfferedRoute({
        method,
        path: `/api/v0/commands/${name}/`,
        operationId: `${method === 'PUT' ? 'start' : 'cancel'}${name === 'rsync' ? 'Rsync' : 'Copy'}`,
        summary: `${method === 'PUT' ? 'Copy' : 'Stop copying'} between instances${name === 'rsync' ? ' and elsewhere' : ''}`,
        ...copying,
      }),
    ),
  ),
  ...(['POST', 'DELETE'] as const).map(method =>
    notOfferedRoute({
      method,
      path: '/api/v0/commands/rclone/',
      operationId: method === 'POST' ? 'startCloudCopy' : 'cancelCloudCopy',
      summary:
        method === 'POST' ? 'Copy between an instance and a cloud' : 'Stop copying between an instance and a cloud',
      ...copying,
    }),
  ),
]
