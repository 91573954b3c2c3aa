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
    `As JSON. {"day": {"gte": 1764547200, "lte": 1767139200}} is needed: the days of UTC in which these seconds since 1970 are, and those between, at most ${maxChargedDays}. The operators are gte, gt, lte, lt and eq. {"type": {"in": ["instance"]}} is for some of ${chargedResources.join(', ')}.`,
  ).optional(),
  format: text('table or tree: there is nothing above instances and volumes, so that both are the same.').optional(),
  latest_first: latestFirstParameter,
  limit: limitParameter(maxChargedResources),
  after_token: afterTokenParameter,
})

const spanColumns = {
  start: number('When it began to cost something, in seconds since 1970, not before the days that are asked for.'),
  end: number('When it ended, or now, not after those days.'),
  amount: number('What it cost, in $.'),
}
const chargeItemSchema = z
  .object({
    ...spanColumns,
    type: z.enum(['gpu', 'disk']).describe('What is charged.'),
    source: alwaysNull('Always null: it is of the thing that it is an item of.'),
    description: text('The same in words.'),
    metadata: z.object({}).describe('Nothing more.'),
    items: z.array(alwaysNull('Nothing.')).describe('Always empty.'),
  })
  .meta({ id: 'ChargeItem', description: 'What the GPUs or the disk of something cost.' })
const chargeSchema = z
  .object({
    ...spanColumns,
    type: z.enum(chargedResources).describe('What cost something.'),
    source: text('Which one it is, like "instance-5".'),
    description: text('The same in words.'),
    metadata: z
      .object({
        instance_id: z.int().nullable().describe('The instance.'),
        volume_id: z.int().nullable().describe('The volume.'),
      })
      .describe('The same as numbers.'),
    items: z.array(chargeItemSchema).describe('What the amount is made of.'),
  })
  .meta({ id: 'Charge', description: 'What an instance or a volume cost.' })

export const chargeRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/charges/',
    operationId: 'listCharges',
    tag: 'Billing',
    summary: 'List what things cost',
    about:
      'What each instance and volume of the account cost on some days, in the order in which they were rented or made. What runs and is not posted yet is in it, and what was given back is not.',
    operation: 'billing.usage',
    query: chargesQuerySchema,
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      count: integer('How many instances and volumes are on this page.'),
      total: integer('How many there are on all pages.'),
      results: z.array(chargeSchema).describe('The charges of this page.'),
      next_token: z.string().nullable().describe('What leads to the next page; null on the last one.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { charges, next, total } = await services.billing.charges(actor, parseChargesQuery(query))
      return { success: true as const, count: charges.length, total, results: charges.map(chargeRow), next_token: next }
    },
  }),
]

/** In the words that clients of this interface know. */
const missingDaysMessage = "Must provide both 'day' gte and lte filters for instance charges"

function parseChargesQuery(given: z.output<typeof chargesQuerySchema>): ChargesQuery {
  const { from, to, ...wish } = collectIssues(complain => {
    const { period, words } = parseBillFilter(given.select_filters, filterColumns, complain)
    checkPeriod(period, 'select_filters.day', complain)
    if (isGiven(given.format) && !['table', 'tree'].includes(given.format)) {
      complain('format', 'must be one of table, tree')
    }
    return {
      ...period,
      resources: chargedResources.filter(thing => words.every(({ words }) => words.includes(thing))),
      latestFirst: parseFlag(given.latest_first, 'latest_first', complain),
      limit: parseLimit(given.limit, { fallback: defaultPageSize, maximum: maxChargedResources }, complain),
      after: isGiven(given.after_token) ? given.after_token : undefined,
    }
  })
  if (!from || !to) throw new DomainError('INVALID_INPUT', missingDaysMessage, { issues: [] })
  return { ...wish, ...extendToWholeDays({ from, to }) }
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
      type: item.kind === 'compute' ? 'gpu' : 'disk',
      source: null,
      description: item.kind === 'compute' ? 'GPUs' : 'Disk',
      metadata: {},
      items: [],
    })),
  }
}

function spanRow({ start, end, costNanos }: Omit<ChargeItem, 'kind'>) {
  return { start: start.getTime() / 1000, end: end.getTime() / 1000, amount: usdToNumber(costNanos) }
}
