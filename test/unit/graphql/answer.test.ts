import { buildSchema, type ExecutionResult, GraphQLError, parse } from 'graphql'
import { expect, it } from 'vitest'
import { overloaded } from '../../../src/domain/errors.ts'
import { toAnswer } from '../../../src/graphql/limits/answer.ts'

const args = { schema: buildSchema('type Query { a: Int! }'), document: parse('{ a }'), contextValue: {} }
const httpOf = (data: Pick<ExecutionResult, 'data'>) => {
  const errors = [new GraphQLError('', { path: ['a'], originalError: overloaded() })]
  return toAnswer({ ...data, errors }, false, args).errors?.map(({ extensions }) => extensions['http'])
}

it('has the status of its error if the operation did not run', () => {
  expect(httpOf({})).toEqual([{ status: 503, headers: { 'retry-after': '1' } }])
})

it('has no status of its errors if the operation ran, also if its data is null', () => {
  expect(httpOf({ data: {} })).toEqual([undefined])
  expect(httpOf({ data: null })).toEqual([undefined])
})
