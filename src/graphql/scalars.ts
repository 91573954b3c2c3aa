import { GraphQLError, Kind, type ValueNode } from 'graphql'
import { DateTimeResolver } from 'graphql-scalars'
import { parseUsd, printUsd } from '../domain/money.ts'
import { builder } from './builder.ts'

builder.addScalarType('DateTime', DateTimeResolver, {
  description: 'A time in ISO 8601 with its UTC offset, as a string: `2026-11-21T09:30:00.000Z`.',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339#section-5.6',
  parseValue: value => withoutSentValue(() => DateTimeResolver.parseValue(value)),
  parseLiteral: node => withoutSentValue(() => DateTimeResolver.parseLiteral(node), node),
})

/** Replaces the error of the library, which repeats the value that was sent. */
function withoutSentValue(read: () => Date, node?: ValueNode): Date {
  try {
    return read()
  } catch {
    throw new GraphQLError('A time must be an ISO 8601 string with its UTC offset, like "2026-11-21T09:30:00.000Z".', {
      nodes: node ?? null,
    })
  }
}

builder.scalarType('Usd', {
  description:
    'An exact amount in US dollars: a decimal number in a string, with at most nine decimal places, such as `"0.4037"`. Floats are neither accepted nor returned.',
  specifiedByURL: 'https://www.w3.org/TR/xmlschema11-2/#decimal',
  serialize: printUsd,
  parseValue: value => parseUsdValue(typeof value === 'string' ? value : undefined),
  parseLiteral: node => parseUsdValue(node.kind === Kind.STRING ? node.value : undefined, node),
})

function parseUsdValue(text: string | undefined, node?: ValueNode): bigint {
  const nanos = text === undefined ? undefined : parseUsd(text)
  if (nanos === undefined) {
    throw new GraphQLError(
      'An amount must be a decimal number in a string, at most 999999999 with at most nine decimal places, like "0.25".',
      { nodes: node ?? null },
    )
  }
  return nanos
}
