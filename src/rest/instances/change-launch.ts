import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { failureOf } from '../error-codes.ts'
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
  template_hash_id: z.string().optional().describe('The template to begin with, instead of what it is made of now.'),
  template_id: z.int().min(0).optional().describe('The same by its number, where no hash is given.'),
  image: image.describe('The container image. As it is, when absent.'),
  env: env.describe('Variables, which are added to what there is. A port can only be one that it was rented with.'),
  ...{ onstart, args, args_str, image_login },
  disk: disk.describe('Its disk in GB, which stays as large as it was rented.'),
  recycle: z.boolean().optional().describe('Make its container anew at once.'),
})

export const instanceChangeLaunchRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/instances/update_template/{id}/',
    operationId: 'updateInstanceTemplate',
    tag: 'Instances',
    summary: 'Change what an instance is made of',
    about:
      'What its container is made of the next time that it is made: at once with recycle, or where it has not run yet, else when it is recycled. Its rows tell so from now on. The launch mode, the ports, the volumes and the size of the disk stay as they were rented, whatever a template says; secret variables of the account stay where the template has none of the same name.',
    operation: 'instances.changeLaunch',
    params: instanceParams,
    body: changeLaunchBody,
    notIdempotent: true,
    result: okResult,
    failures: [
      noSuchInstance,
      failureOf('NOT_FOUND', 'There is no such template, or it is not yours.'),
      finalInstance,
      insufficientCredit,
      quotaExceeded,
      startBackoff,
    ],
    answer: async ({ services, actor, params: { id }, body }) => {
      const { template_id: templateId, recycle = false, ...asked } = body
      const { launch, templateHash } = parseRentBody(asked)
      const changing = services.instances.changeLaunch(actor, id, { launch, templateHash, templateId, recycle })
      await changing.catch((error: unknown) => Promise.reject(renameIssuePaths(error, rentIssuePaths)))
      return { success: true as const }
    },
  }),
]
