import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { requireVolumeSizeMb } from '../../domain/volumes/offers.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { mapInTurns } from '../../turns/in-turns.ts'
import { idempotencyFailures } from '../documented-failures.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { insufficientCredit, quotaExceeded, spendLimitExceeded } from '../instances/responses.ts'
import { notImplementedRoute } from '../not-implemented.ts'
import { okResult } from '../results.ts'
import { rewordRefusals } from '../rewording.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { integer, text } from '../values.ts'
import { volumeOfferRow, volumeRow } from './present.ts'
import { volumeOfferRowSchema, volumeRowSchema } from './row.ts'
import { parseVolumeSearch, volumeSearchSchema } from './search.ts'

const path = '/api/v0/volumes/'
const maxRows = 5_000
const volumeTypes = ['local_volume', 'network_volume', 'all_volume']

const invalidId: DocumentedFailure = { status: 400, error: 'invalid id', when: 'id must refer to a valid volume id' }
const noSuchVolume: DocumentedFailure = {
  status: 404,
  error: 'invalid id',
  when: 'could not find a listed volume matching id',
}
const inUse: DocumentedFailure = { status: 409, error: 'volume in use', when: 'existing instances use that volume!' }

const failureTuple = ({ status, error, when }: DocumentedFailure): [number, string, string] => [status, error, when]

/** Parses the id of a volume, alone or after "V." as in its name. */
function parseVolumeId(id: string | number | undefined): bigint {
  const [, digits] = /^(?:V\.)?(\d{1,18})$/.exec(String(id)) ?? []
  if (digits === undefined) throw new RestFailure(...failureTuple(invalidId))
  return BigInt(digits)
}

export const volumeRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    operationId: 'listVolumes',
    tag: 'Volumes',
    summary: 'List the volumes',
    about: `Lists the account's volumes, newest first, at most ${maxRows}.`,
    operation: 'volumes.list',
    query: z.object({
      type: text(
        `Type of volume: ${volumeTypes.join(', ')}. All volumes are local, so network_volume finds none.`,
      ).optional(),
    }),
    result: z.object({ volumes: z.array(volumeRowSchema).describe('The volumes.') }),
    answer: async ({ services, actor, query: { type } }) => {
      if (type && !volumeTypes.includes(type)) {
        const listed = volumeTypes.map(name => `'${name}'`).join(', ')
        throw new RestFailure(400, 'invalid_args', `type must be unspecified or one of: [${listed}]`)
      }
      const volumes = await services.volumes.list(actor, type === 'network_volume' ? 0 : maxRows)
      return { volumes: await mapInTurns(volumes, volumeRow) }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v0/volumes/search/',
    operationId: 'searchVolumeOffers',
    tag: 'Volumes',
    summary: 'Search storage',
    about: 'Searches the free disks of machines for volumes. Filters that do not apply to storage are ignored.',
    operation: 'volumes.search',
    publicSearch: true,
    documentedBody: volumeSearchSchema,
    example: { body: { allocated_storage: 50, order: [['storage_cost', 'asc']], limit: 3 } },
    result: z.object({
      offers: z.array(volumeOfferRowSchema).describe('The volume offers that match, in the requested order.'),
    }),
    maxRows: ({ body }) => parseVolumeSearch(body).limit,
    answer: async ({ services, actor, body }) => {
      const { search, limit } = parseVolumeSearch(body)
      const searching = services.volumes.searchOffers(actor, search, limit)
      const offers = await searching.catch((error: unknown) =>
        Promise.reject(renameIssuePaths(error, { sizeGb: 'allocated_storage' })),
      )
      const sizeMb = requireVolumeSizeMb(search.sizeGb)
      return { offers: await mapInTurns(offers, offer => volumeOfferRow(offer, sizeMb)) }
    },
  }),
  route({
    method: 'PUT',
    path,
    operationId: 'createVolume',
    tag: 'Volumes',
    summary: 'Create a volume',
    about: 'Creates a volume on the free disk of a machine. The volume is charged until it is deleted.',
    operation: 'volumes.create',
    body: z.object({
      id: integer('ID of the volume offer to create the volume from.').min(0),
      size: z.number().optional().describe(`Size of the volume in GB; ${volumeSizeGb.default} by default.`),
      name: text('Name of the volume: at most 64 letters, digits, _ and -.').optional(),
    }),
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: { body: { id: 17, size: 50, name: 'data' } },
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      id: integer('ID of the new volume.'),
      volume_id: integer('The same as id.'),
      volume_name: text('Name of the volume for mount flags, such as "V.42".'),
    }),
    failures: [
      documentedFailureOf('OFFER_UNAVAILABLE', 'The storage of the machine is not on the market.'),
      insufficientCredit,
      spendLimitExceeded,
      quotaExceeded,
      ...idempotencyFailures,
    ],
    answer: async ({
      services,
      actor,
      body: { id: machineId, size: sizeGb = volumeSizeGb.default, name },
      idempotencyKey,
    }) => {
      const creating = services.volumes.create(actor, { machineId, sizeGb, name, idempotencyKey })
      const { volume } = await creating.catch((error: unknown) =>
        Promise.reject(renameIssuePaths(error, { sizeGb: 'size', idempotencyKey: 'Idempotency-Key' })),
      )
      const id = Number(volume.id)
      return { success: true as const, id, volume_id: id, volume_name: `V.${id}` }
    },
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'deleteVolume',
    tag: 'Volumes',
    summary: 'Delete a volume',
    about: 'Deletes a volume and all data on it. The id is in the URL or in the body.',
    operation: 'volumes.delete',
    query: z.object({ id: text('ID of the volume.').optional() }),
    body: z.object({
      id: z
        .union([z.int().min(0), z.string()])
        .optional()
        .describe('ID of the volume.'),
    }),
    example: { body: { id: 42 } },
    result: okResult,
    failures: [invalidId, noSuchVolume, inUse],
    answer: async ({ services, actor, query, body }) => {
      await rewordRefusals(services.volumes.delete(actor, parseVolumeId(query.id || body.id)), ({ code }) => {
        if (code === 'NOT_FOUND') return failureTuple(noSuchVolume)
        return code === 'VOLUME_UNAVAILABLE' ? failureTuple(inUse) : undefined
      })
      return { success: true as const }
    },
  }),
  notImplementedRoute({
    method: 'POST',
    path: '/api/v0/volumes/copy/',
    operationId: 'copyVolume',
    tag: 'Volumes',
    summary: 'Copy a volume',
    operation: 'volumes.create',
    instead: 'Attach both volumes to one instance on their machine, and copy inside it.',
  }),
]
