import { z } from 'zod'
import { shownStatuses } from '../../domain/instances/search/search.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { integer, text } from '../values.ts'
import { listQuery, parseListQuery } from './list-input.ts'
import { instanceRow } from './present.ts'
import { type InstanceColumns, type InstanceRow, instanceColumnsSchema, instanceRowSchema } from './row.ts'

const row = z.union([instanceRowSchema, instanceColumnsSchema])

export const instanceListRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/instances/',
    operationId: 'listInstancePage',
    tag: 'Instances',
    summary: 'List instances in pages',
    about: "A page of the account's instances that were not destroyed.",
    operation: 'instances.list',
    query: listQuery,
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      total_instances: integer('How many match the filters, on all pages.'),
      label_counts: z
        .record(z.string(), integer('How many have it.'))
        .describe('How many of those have which label. Those without one are left out.'),
      instances_found: integer('How many are on this page.'),
      instances: z.array(row).describe('The instances of this page.'),
      next_token: z.string().nullable().describe('What leads to the next page; null on the last one.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { search, page, columns } = parseListQuery(query)
      const { instances, next, total, labels } = await services.instances.search(actor, search, page)
      return {
        success: true as const,
        total_instances: total,
        label_counts: Object.fromEntries(labels.map(({ label, count }) => [label, count])),
        instances_found: instances.length,
        instances: instances.map(instance =>
          selectColumns<InstanceRow, InstanceColumns>(instanceRow(instance), columns),
        ),
        next_token: next,
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/instances/filters/',
    operationId: 'listInstanceFilters',
    tag: 'Instances',
    summary: 'List what instances can be filtered by',
    about: "What the account's instances differ in: each combination that there is, once.",
    operation: 'instances.list',
    result: z.object({
      filters: z
        .array(
          z.object({
            actual_status: z.enum(shownStatuses).describe('What was last seen of an instance.'),
            verification: text('Whether its machine is verified.'),
            gpu_name: text('The model of its GPUs.'),
          }),
        )
        .describe('The combinations.'),
    }),
    answer: async ({ services, actor }) => {
      const facets = await services.instances.facets(actor)
      const filters = facets.map(({ status, verification, gpuName }) => ({
        actual_status: status,
        verification,
        gpu_name: gpuName,
      }))
      return { filters }
    },
  }),
]
