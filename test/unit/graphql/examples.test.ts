import { readFileSync } from 'node:fs'
import { parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'

const page = readFileSync('docs/graphql.md', 'utf8')
/** Selections in a line of docs/graphql.md, such as `viewer { account { id } }`. */
const examples = [...page.matchAll(/`(\w+(?:\([^`]*?\))? \{[^`]*\})`/g)].map(([, selection]) => selection as string)

it('finds the examples of the page', () => {
  expect(examples.length).toBeGreaterThanOrEqual(2)
})

it.each(examples)('fits the schema: %s', selection => {
  expect(validate(schema, parse(`{ ${selection} }`))).toEqual([])
})
