// Services decide whose rows a request reads, but only of the rows themselves. So the fields of a type select no relation
// that leads to rows of other accounts, and no secret.

import { type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql'
import { expect, it } from 'vitest'
import { getDatamodel } from '../../../src/database/generated/pothos.ts'
import { schema } from '../../../src/graphql/schema.ts'
import type { TemplateSelect } from '../../../src/services/templates/templates.ts'
import type { WebhookSelect } from '../../../src/services/webhooks/webhooks.ts'

type Select = Record<string, unknown>

/** Each leads to rows of the same account, to rows that every account may read, or is read with a condition of its own. */
const allowedRelations = [
  ...['Instance.machine', 'Instance.offer', 'Instance.portBindings', 'Instance.template', 'Instance.volumes'],
  ...['LedgerEntry.meter', 'Machine.gpuModel', 'Offer.machine', 'Volume.machine', 'VolumeAttachment.volume'],
  'WebhookDelivery.event',
]

/** A type that a relation leads to has its own selections. */
const ofItem = { select: {} }

const models: Record<string, { fields: readonly { name: string; kind: string; type: string }[] }> =
  getDatamodel().datamodel.models

const types = Object.values(schema.getTypeMap()).filter(
  (type): type is GraphQLObjectType => isObjectType(type) && modelOf(type) !== undefined,
)
const selected = types.flatMap(type => {
  const selects = Object.values(type.getFields()).map(selectionOf)
  return [type.extensions['pothosPrismaSelect'] as Select, ...selects].flatMap(select =>
    fieldsIn(modelOf(type) ?? '', select),
  )
})

function modelOf(type: GraphQLObjectType): string | undefined {
  return type.extensions['pothosPrismaModel'] as string | undefined
}

function selectionOf({ extensions }: GraphQLField<unknown, unknown>): Select {
  const select = extensions['pothosPrismaSelect']
  if (typeof select !== 'function') return (select as Select | undefined) ?? {}
  return select({}, {}, () => ofItem).select
}

/** The columns and relations that a selection names, with those below. Values that no column has are left out. */
function fieldsIn(model: string, select: Select): { path: string; kind: string; type: string }[] {
  return Object.entries(select).flatMap(([name, below]) => {
    const field = models[model]?.fields.find(one => one.name === name)
    if (!field) return below === true ? [] : [{ path: `${model}.${name}`, kind: 'unknown', type: '' }]
    const { kind, type } = field
    const inside =
      typeof below === 'object' && below !== null ? fieldsIn(type, (below as { select: Select }).select) : []
    return [{ path: `${model}.${name}`, kind, type }, ...inside]
  })
}

it('finds what the fields of the types select', () => {
  expect(types.length).toBeGreaterThan(10)
  expect(selected.length).toBeGreaterThan(100)
})

it('contains no relation but those that lead to rows that the account may read', () => {
  const relations = selected.filter(({ kind }) => kind !== 'scalar' && kind !== 'enum').map(({ path }) => path)
  expect([...new Set(relations)].sort()).toEqual(allowedRelations)
})

it('contains no secret: hashes and encrypted values are bytes', () => {
  expect(selected.filter(({ type }) => type === 'Bytes')).toEqual([])
})

it('cannot contain them in a service that reads through Prisma Client', () => {
  const readTemplate = <const Select extends TemplateSelect>(select: Select) => select
  const readWebhook = <const Select extends WebhookSelect>(select: Select) => select
  expect(readTemplate({ id: true, name: true })).toEqual({ id: true, name: true })
  // @ts-expect-error -- encrypted values
  readTemplate({ id: true, secretEnv: true })
  // @ts-expect-error -- an encrypted value
  readWebhook({ id: true, secret: true })
  // @ts-expect-error -- the account that owns a public template
  readTemplate({ id: true, account: { select: { id: true } } })
})
