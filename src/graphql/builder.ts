import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { GraphQLError } from 'graphql'
import type PrismaTypes from '../database/generated/pothos.ts'
import { getDatamodel } from '../database/generated/pothos.ts'
import { maxPageSize } from '../domain/pages.ts'
import type { Context } from './context.ts'

/** Fields that one operation may ask for, counting each as often as the lists above it can repeat it. */
const maxCost = 10_000

export const builder = new SchemaBuilder<{
  Context: Context
  PrismaTypes: PrismaTypes
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Usd: { Input: bigint; Output: bigint }
  }
  DefaultFieldNullability: false
  DefaultEdgesNullability: false
  DefaultNodeNullability: false
}>({
  plugins: [RelayPlugin, ComplexityPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: ({ prisma }) => prisma,
    dmmf: getDatamodel(),
  },
  relay: {
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'Whatever has an id that `node` finds it by.' },
    cursorType: 'String',
    nodesOnConnection: { description: 'The rows of this page, without their cursors.', complexity: { multiplier: 1 } },
    edgesFieldOptions: { nullable: false, description: 'The rows of this page.', complexity: { multiplier: 1 } },
    nodeFieldOptions: { nullable: false, description: 'The row.' },
    cursorFieldOptions: { description: 'Where the row stands in this order.' },
    pageInfoFieldOptions: { description: 'Whether there is more, and where.' },
    pageInfoTypeOptions: { description: 'Whether there is more than this page, and from where to read on.' },
    hasNextPageFieldOptions: { description: 'Whether there are rows after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there are rows before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first row: pass it as `before` to read on backwards.' },
    endCursorFieldOptions: { description: 'The cursor of the last row: pass it as `after` to read on.' },
    firstArgOptions: { description: `How many rows from the front, 1 to ${maxPageSize}.` },
    afterArgOptions: { description: 'Start after this cursor.' },
    lastArgOptions: { description: `How many rows from the end, 1 to ${maxPageSize}.` },
    beforeArgOptions: { description: 'End before this cursor.' },
  },
  complexity: {
    limit: { complexity: maxCost },
    complexityError: (_kind, { complexity }) =>
      new GraphQLError(
        `This operation can cost ${complexity} fields; at most ${maxCost} are allowed. Ask for smaller pages.`,
        {
          extensions: { code: 'COST_LIMIT_EXCEEDED' },
        },
      ),
  },
})
