import { z } from 'zod'
import {
  type ChargeItem,
  type ChargesQuery,
  chargedResources,
  extendToWholeDays,
  maxChargedDays,
  maxChargedResources,
  type ResourceCharges,
  summarizeCharges,
} from '../../domain/billing/charges.ts'
import { DomainError } from '../../domain/errors.ts'
import { usdToNumber } from '../../domain/money.ts'
import { defaultPageSize } from '../../domain/pages.ts'
import { collectIssues, isGiven, parseLimit } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { alwaysNull, integer, number, text } from '../values.ts'
import {
  afterTokenParameter,
  type BillColumnKind,
  checkPeriod,
  latestFirstParameter,
  limitParameter,
  parseBillFilter,
  parseFlag,
} from './input.ts'

const filterColumns: Record<string, BillColumnKind> = {
  day: 'instant',
  when: 'instant',
  timestamp: 'instant',
  type: 'word',
}

const chargesQuerySchema = z.object({
  select_filters: text(
    `Filters, as JSON. day is required, like {"day": {"gte": 1764547200, "lte": 1767139200}}, in seconds since 1970. It selects the UTC days from the first to the last instant, at most ${maxChargedDays} days. Its operators are gte, gt, lte, lt and eq. type is optional, like {"type": {"in": ["instance"]}}, with the values ${chargedResources.join(', ')}.`,
  ).optional(),
  format: text(
    'table or tree. Both return the same, because charges have no level above instances and volumes.',
  ).optional(),
  latest_first: latestFirstParameter,
  limit: limitParameter(maxChargedResources),
  after_token: afterTokenParameter,
})

const spanColumns = {
  start: number('When the costs began, in seconds since 1970, but not before the first requested day.'),
  end: number(
    'When the costs ended, or now if they have not, in seconds since 1970, but not after the last requested day.',
  ),
  amount: number('The cost, in US dollars.'),
}
const chargeItemSchema = z
  .object({
    ...spanColumns,
    type: z.enum(['gpu', 'disk']).describe('gpu for GPUs, disk for the disk.'),
    source: alwaysNull('Always null: the charge that contains this item names the source.'),
    description: text('The type, in words.'),
    metadata: z.object({}).describe('Always empty.'),
    items: z.array(alwaysNull('Never present.')).describe('Always empty.'),
  })
  .meta({ id: 'ChargeItem', description: 'The cost of the GPUs or the disk of an instance or volume.' })
const chargeSchema = z
  .object({
    ...spanColumns,
    type: z.enum(chargedResources).describe('The kind of resource that is charged.'),
    source: text('The charged resource, like "instance-5".'),
    description: text('The charged resource, in words.'),
    metadata: z
      .object({
        instance_id: z.int().nullable().describe('The id of the instance; null for a volume.'),
        volume_id: z.int().nullable().describe('The id of the volume; null for an instance.'),
      })
      .describe('The id of the charged resource.'),
    items: z.array(chargeItemSchema).describe('The parts of the amount.'),
  })
  .meta({ id: 'Charge', description: 'The cost of an instance or a volume.' })

export const chargeRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/charges/',
    operationId: 'listCharges',
    tag: 'Billing',
    summary: 'List the costs of instances and volumes',
    about:
      'The costs of each instance and volume of the account on the requested days, in the order of rental or creation. Costs that are not posted yet are included; refunded costs are not.',
    operation: 'billing.usage',
    mayBeStale: true,
    query: chargesQuerySchema,
    example: { query: { select_filters: '{"day": {"gte": 1764547200, "lte": 1767139200}}' } },
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      count: integer('The number of instances and volumes on this page.'),
      total: integer('The number of instances and volumes on all pages.'),
      results: z.array(chargeSchema).describe('The charges of this page.'),
      next_token: z.string().nullable().describe('The after_token of the next page; null on the last page.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { charges, next, total } = await services.billing.charges(actor, parseChargesQuery(query))
      return { success: true as const, count: charges.length, total, results: charges.map(chargeRow), next_token: next }
    },
  }),
]

/** Existing clients know this text. */
const missingDaysMessage = "Must provide both 'day' gte and lte filters for instance charges"

function parseChargesQuery(given: z.output<typeof chargesQuerySchema>): ChargesQuery {
  const { from, to, ...rest } = collectIssues(complain => {
    const { period, words } = parseBillFilter(given.select_filters, filterColumns, complain)
    checkPeriod(period, 'select_filters.day', complain)
    if (isGiven(given.format) && !['table', 'tree'].includes(given.format)) {
      complain('format', 'must be one of table, tree')
    }
    return {
      ...period,
      resources: chargedResources.filter(resource => words.every(({ words }) => words.includes(resource))),
      latestFirst: parseFlag(given.latest_first, 'latest_first', complain),
      limit: parseLimit(given.limit, { fallback: defaultPageSize, maximum: maxChargedResources }, complain),
      after: isGiven(given.after_token) ? given.after_token : undefined,
    }
  })
  if (!from || !to) throw new DomainError('INVALID_INPUT', missingDaysMessage, { issues: [] })
  return { ...rest, ...extendToWholeDays({ startsAt: from, endsAt: to }) }
}

function chargeRow({ instanceId, volumeId, items }: ResourceCharges): z.input<typeof chargeSchema> {
  const type = instanceId === null ? 'volume' : 'instance'
  const id = Number(instanceId ?? volumeId)
  return {
    ...spanRow(summarizeCharges(items)),
    type,
    source: `${type}-${id}`,
    description: `${type === 'volume' ? 'Volume' : 'Instance'} ${id}`,
    metadata: { instance_id: type === 'instance' ? id : null, volume_id: type === 'volume' ? id : null },
    items: items.map(item => ({
      ...spanRow(item),
      type: item.kind === 'gpu' ? 'gpu' : 'disk',
      source: null,
      description: item.kind === 'gpu' ? 'GPUs' : 'Disk',
      metadata: {},
      items: [],
    })),
  }
}

function spanRow({ start, end, costNanos }: Omit<ChargeItem, 'kind'>) {
  return { start: start.getTime() / 1000, end: end.getTime() / 1000, amount: usdToNumber(costNanos) }
}
