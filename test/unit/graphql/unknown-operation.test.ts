import { parse } from 'graphql'
import { expect, it } from 'vitest'
import { refuseUnknownOperation } from '../../../src/graphql/errors/unknown-operation.ts'

const refuse = (query: string, operationName?: string | null) =>
  refuseUnknownOperation(parse(query), operationName)?.message

it.each([
  ['query A { a } mutation B { b }', undefined, '"operationName" must name an operation of the document: "A", "B".'],
  ['query A { a } mutation B { b }', 'C', '"operationName" must name an operation of the document: "A", "B".'],
  ['query A { a }', 'C', '"operationName" must name an operation of the document: "A".'],
  ['{ a }', 'C', 'The operation has no name: leave "operationName" out.'],
  ['fragment F on Query { a }', undefined, 'The document has no operation.'],
  ['fragment F on Query { a }', 'F', 'The document has no operation.'],
])('says which operations there are: %s, %s', (query, name, message) => {
  expect(refuse(query, name)).toBe(message)
})

it.each([
  ['{ a }', undefined],
  ['{ a }', null],
  ['query A { a }', undefined],
  ['query A { a } query B { b }', 'B'],
])('runs an operation that is known: %s, %s', (query, name) => {
  expect(refuse(query, name)).toBeUndefined()
})

it('names no operations where there are many', () => {
  const query = Array.from({ length: 13 }, (_, index) => `query A${index} { a }`).join(' ')
  expect(refuse(query)).toBe('"operationName" must name an operation of the document.')
})
