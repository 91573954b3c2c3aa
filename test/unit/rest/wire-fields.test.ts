import { expect, it } from 'vitest'
import { findMismatches, type Shape } from '../../support/rest/wire-fields.ts'

it.each<[unknown, Shape, string[]]>([
  [{ id: 1, more: true }, { id: 'integer' }, []],
  [{ id: 1.5 }, { id: 'integer' }, ['id is 1.5, not integer']],
  [{ id: '1' }, { id: 'integer' }, ['id is "1", not integer']],
  [{}, { label: 'text or null' }, ['label is undefined, not text or null']],
  [{ label: null }, { label: 'text or null' }, []],
  [{}, { verified: 'boolean or nothing' }, []],
  [{ name: ' ' }, { name: 'words' }, ['name is " ", not words']],
  [{ port: 22 }, { port: 'digits' }, ['port is 22, not digits']],
  [[], 'object', ['the value is [], not object']],
  [{ a: {} }, { a: 'list' }, ['a is {}, not list']],
  [['x', 1], 'list of text', ['[1] is 1, not text']],
  [null, 'list of text', ['the value is null, not list']],
  [{ rows: [{ id: 1 }, {}] }, { rows: [{ id: 'integer' }] }, ['rows[1].id is undefined, not integer']],
  [{ env: [['A', 1]] }, { env: [['text']] }, ['env[0][1] is 1, not text']],
])('compares %j with %j and finds the mismatches %j', (value, shape, wrong) => {
  expect(findMismatches(value, shape, '')).toEqual(wrong)
})
