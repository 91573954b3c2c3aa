import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { okResult } from '../results.ts'
import { type Route, route } from '../route.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import {
  finalInstance,
  instanceParams,
  insufficientCredit,
  noSuchInstance,
  quotaExceeded,
  startBackoff,
} from './responses.ts'

const { image, image_login, env, onstart, args, args_str, disk } = rentBody.shape

const changeLaunchBody = z.object({
  template_hash_id: z
    .string()
    .optional()
    .describe('Hash of the template to start from, instead of the current settings.'),
  template_id: z.int().min(0).optional().describe('ID of the template to start from, if no hash is given.'),
  image: image.describe('Container image. Unchanged when absent.'),
  env: env.describe(
    'Variables to add to the current ones. Ports must be among those that the instance was rented with.',
  ),
  ...{ onstart, args, args_str, image_login },
  disk: disk.describe('Disk size in GB. Must be the size that the instance was rented with.'),
  recycle: z.boolean().optional().describe('Recreate the container at once.'),
})

export const instanceChangeLaunchRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/instances/update_template/{id}/',
    operationId: 'updateInstanceTemplate',
    tag: 'Instances',
    summary: 'Change the image and settings of an instance',
    about:
      'Changes the settings from which the container is created. They apply at once with recycle or if the container has not run yet, otherwise at the next recycle. Rows show them immediately. The launch mode, ports, volumes and disk size cannot change; those of a template are ignored. Secret variables of the account stay, unless the template has one of the same name.',
    operation: 'instances.changeLaunch',
    params: instanceParams,
    body: changeLaunchBody,
    notIdempotent: true,
    example: { body: { image: 'ubuntu:24.04', recycle: true } },
    result: okResult,
    failures: [
      noSuchInstance,
      documentedFailureOf('NOT_FOUND', 'The template does not exist, or the account may not use it.'),
      finalInstance,
      insufficientCredit,
      quotaExceeded,
      startBackoff,
    ],
    answer: async ({ services, actor, params: { id }, body }) => {
      const { template_id: templateId, recycle = false, ...settings } = body
      const { launch, template: byHash } = parseRentBody(settings)
      const byId = templateId === undefined ? undefined : { id: BigInt(templateId) }
      const changing = services.instances.changeLaunch(actor, id, { launch, template: byHash ?? byId, recycle })
      await changing.catch((error: unknown) => Promise.reject(renameIssuePaths(error, rentIssuePaths)))
      return { success: true as const }
    },
  }),
]
