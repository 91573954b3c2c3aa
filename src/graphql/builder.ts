import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import type PrismaTypes from '../database/generated/pothos.ts'
import { getDatamodel } from '../database/generated/pothos.ts'
import type { Event } from '../domain/events/events.ts'
import type { Instance } from '../domain/instances/instances.ts'
import type { OfferFacts } from '../domain/offers/offers.ts'
import { defaultPageSize, maxPageSize } from '../domain/pages.ts'
import type { VolumeOffer } from '../domain/volumes/offers.ts'
import type { Volume } from '../domain/volumes/volumes.ts'
import type { HostFacts } from '../services/machines/hosted.ts'
import type { Context } from './context.ts'
import { fieldCostPlugin } from './limits/field-cost.ts'
import { requiresPlugin } from './permission.ts'
import { nullableRoots } from './pothos/nullable-roots.ts'
import { rowsAsRead } from './pothos/rows-as-read.ts'

/** Values that a selection can ask for although no column has them, or not with this type: see the sources of the services. */
type ComputedValues = {
  Offer: Pick<OfferFacts, 'asOf'>
  Volume: Pick<Volume, 'attachment'>
  Webhook: { url: string }
  /** Only of volume offers and hosted machines: `Machine` itself has none. */
  Machine: Pick<VolumeOffer, 'asOf'> & HostFacts
  /** All of these are columns, of texts and JSON that have these types. */
  Event: Pick<Event, 'kind' | 'actorKind' | 'subjectType' | 'before' | 'after'>
  /** `launch` is a column, whose JSON has this type. */
  Instance: Pick<
    Instance,
    'launch' | 'simulated' | 'sshProxy' | 'notebookProxy' | 'minimumBidNanos' | 'replacedById' | 'asOf'
  >
}
type WithComputed<Model extends { Shape: object; Select: object }, Values> = Omit<Model, 'Shape' | 'Select'> & {
  Shape: Omit<Model['Shape'], keyof Values> & Values
  Select: Model['Select'] & { [Name in keyof Values]?: boolean }
}
type ModelTypes = {
  [Model in keyof PrismaTypes]: Model extends keyof ComputedValues
    ? WithComputed<PrismaTypes[Model], ComputedValues[Model]>
    : PrismaTypes[Model]
}

export const builder = new SchemaBuilder<{
  Context: Context
  PrismaTypes: ModelTypes
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Usd: { Input: bigint; Output: bigint }
  }
  DefaultFieldNullability: false
  DefaultEdgesNullability: false
  DefaultNodeNullability: false
}>({
  plugins: [RelayPlugin, rowsAsRead, PrismaPlugin, fieldCostPlugin, nullableRoots, requiresPlugin],
  defaultFieldNullability: false,
  prisma: {
    // Only fields that would read by themselves need it, such as those of `t.prismaConnection`. Services read here, with the
    // permissions that they check.
    client: () => {
      throw new Error('A field reads through plugin-prisma. Let it call a service.')
    },
    dmmf: getDatamodel(),
  },
  relay: {
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'An item that `node` finds by its ID.' },
    cursorType: 'String',
    nodesOnConnection: { description: 'The items of this page, without their cursors.' },
    edgesFieldOptions: {
      nullable: false,
      description: 'The items of this page, each with its cursor.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item at this position.' },
    cursorFieldOptions: { description: 'Position of the item in this order. Pass it as `after` or `before`.' },
    pageInfoFieldOptions: {
      description: 'Whether there are items before and after this page, and the cursors to request them.',
    },
    pageInfoTypeOptions: {
      description: 'Whether a list has items before and after this page, and the cursors to request them.',
    },
    hasNextPageFieldOptions: { description: 'Whether there are items after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there are items before this page.' },
    startCursorFieldOptions: {
      description:
        'Cursor of the start of this page. Pass it as `before` to get the previous page. Null for an empty page.',
    },
    endCursorFieldOptions: {
      description:
        'Cursor of the end of this page. Pass it as `after` to get the next page. May be null for an empty page.',
    },
    firstArgOptions: {
      description: `Number of items to return from the start, 1-${maxPageSize}. Defaults to ${defaultPageSize} when neither \`first\` nor \`last\` is given.`,
    },
    afterArgOptions: {
      description: 'Return only items after this cursor. Cannot be combined with `last` or `before`.',
    },
    lastArgOptions: {
      description: `Number of items to return from the end, 1-${maxPageSize}. Defaults to ${defaultPageSize} when only \`before\` is given. Cannot be combined with \`first\` or \`after\`.`,
    },
    beforeArgOptions: {
      description: 'Return only items before this cursor. Cannot be combined with `first` or `after`.',
    },
  },
})
