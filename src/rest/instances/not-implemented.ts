import { notImplementedInstanceRoute, notImplementedRoute } from '../not-implemented.ts'
import type { Route } from '../route.ts'

const copying = {
  operation: 'instances.execute' as const,
  instead: 'Log in to the instance with SSH, and copy there with scp, rsync or rclone.',
}

export const notImplementedInstanceRoutes: Route[] = [
  notImplementedInstanceRoute({
    method: 'PUT',
    path: '/api/v0/instances/prepay/{id}/',
    operationId: 'prepayInstance',
    summary: 'Prepay an instance',
    operation: 'instances.update',
    instead: 'Instances are paid from the credit of the account, without discounts for deposits. Add credit instead.',
  }),
  notImplementedInstanceRoute({
    method: 'GET',
    path: '/api/v0/instances/balance/{id}/',
    operationId: 'getInstanceBalance',
    summary: 'Get the prepaid balance of an instance',
    operation: 'instances.get',
    instead: 'Instances are not prepaid. Read the credit of the account at /api/v0/users/current/.',
  }),
  notImplementedInstanceRoute({
    method: 'POST',
    path: '/api/v0/instances/take_snapshot/{id}/',
    operationId: 'takeSnapshot',
    summary: 'Create an image from an instance',
    operation: 'instances.execute',
    instead: 'Keep data on a volume, or build an image elsewhere.',
  }),
  notImplementedRoute({
    method: 'POST',
    path: '/api/v0/commands/schedule_job/',
    operationId: 'scheduleJob',
    summary: 'Schedule a request',
    operation: 'instances.execute',
    instead: 'Use a scheduler of your own, or one inside the instance.',
  }),
  ...(['PUT', 'DELETE'] as const).flatMap(method =>
    (['copy_direct', 'rsync'] as const).map(name =>
      notImplementedRoute({
        method,
        path: `/api/v0/commands/${name}/`,
        operationId: `${method === 'PUT' ? 'start' : 'cancel'}${name === 'rsync' ? 'Rsync' : 'Copy'}`,
        summary: `${method === 'PUT' ? 'Copy' : 'Stop copying'} between instances${name === 'rsync' ? ' and elsewhere' : ''}`,
        ...copying,
      }),
    ),
  ),
  ...(['POST', 'DELETE'] as const).map(method =>
    notImplementedRoute({
      method,
      path: '/api/v0/commands/rclone/',
      operationId: method === 'POST' ? 'startCloudCopy' : 'cancelCloudCopy',
      summary:
        method === 'POST' ? 'Copy between an instance and a cloud' : 'Stop copying between an instance and a cloud',
      ...copying,
    }),
  ),
]
