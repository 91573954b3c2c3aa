import { z } from 'zod'
import { shownStatuses } from '../../domain/instances/search/search.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { integer, text } from '../values.ts'
import { listQuery, parseListQuery } from './list-input.ts'
import { measuredRows } from './measured.ts'
import { type InstanceColumns, type InstanceRow, instanceColumnsSchema, instanceRowSchema } from './row.ts'

const row = z.union([instanceRowSchema, instanceColumnsSchema])

export const instanceListRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/instances/',
    operationId: 'listInstancePage',
    tag: 'Instances',
    summary: 'List instances in pages',
    about: "Lists the account's instances that are not destroyed, in pages.",
    operation: 'instances.list',
    query: listQuery,
    example: { query: { select_filters: '{"actual_status": {"eq": "running"}}', limit: '5' } },
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      total_instances: integer('Number of instances that match the filters, on all pages.'),
      label_counts: z
        .record(z.string(), integer('Number of instances with the label.'))
        .describe('Number of matching instances by label. Instances without a label are left out.'),
      instances_found: integer('Number of instances on this page.'),
      instances: z.array(row).describe('The instances of this page.'),
      next_token: z.string().nullable().describe('Token of the next page; null on the last one.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { search, page, columns } = parseListQuery(query)
      const { instances, next, total, labels } = await services.instances.search(actor, search, page)
      const rows = await measuredRows({ services, actor }, instances)
      return {
        success: true as const,
        total_instances: total,
        label_counts: Object.fromEntries(labels.map(({ label, count }) => [label, count])),
        instances_found: instances.length,
        instances: rows.map(found => selectColumns<InstanceRow, InstanceColumns>(found, columns)),
        next_token: next,
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/instances/filters/',
    operationId: 'listInstanceFilters',
    tag: 'Instances',
    summary: 'List filter values of instances',
    about: "Lists each distinct combination of status, verification and GPU model among the account's instances.",
    operation: 'instances.list',
    result: z.object({
      filters: z
        .array(
          z.object({
            actual_status: z.enum(shownStatuses).describe('Last observed status of an instance.'),
            verification: text('Verification of the machine.'),
            gpu_name: text('Model of the GPUs.'),
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
