import { GraphQLError, Kind } from 'graphql'
import { DateTimeResolver } from 'graphql-scalars'
import { parseUsd, printUsd } from '../domain/money.ts'
import { builder } from './builder.ts'

builder.addScalarType('DateTime', DateTimeResolver, {
  description: 'An instant in ISO 8601, with its offset: `2026-11-21T09:30:00.000Z`.',
  parseValue: value => withoutSentValue(() => DateTimeResolver.parseValue(value)),
  parseLiteral: node => withoutSentValue(() => DateTimeResolver.parseLiteral(node)),
})

/** Its own refusals repeat what was sent. */
function withoutSentValue(read: () => Date): Date {
  try {
    return read()
  } catch {
    throw new GraphQLError('An instant is ISO 8601 in a string, with its offset, like "2026-11-21T09:30:00.000Z".')
  }
}

builder.scalarType('Usd', {
  description:
    'US dollars, exactly: a decimal in a string with at most nine places, `"0.4037"`. Never a float, neither coming nor going.',
  serialize: printUsd,
  parseValue: value => parseUsdValue(typeof value === 'string' ? value : undefined),
  parseLiteral: node => parseUsdValue(node.kind === Kind.STRING ? node.value : undefined),
})

function parseUsdValue(text: string | undefined): bigint {
  const nanos = text === undefined ? undefined : parseUsd(text)
  if (nanos === undefined) {
    throw new GraphQLError(
      'An amount is a decimal in a string, at most 999999999 and with at most nine places, like "0.25".',
    )
  }
  return nanos
}
