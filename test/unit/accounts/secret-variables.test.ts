import { describe, expect, it } from 'vitest'
import { secretVariableIssues } from '../../../src/domain/accounts/secret-variables.ts'

describe('secret variables', () => {
  it('can have 16384 characters in all names and values together, and no more', () => {
    const all = (characters: number) => [
      { name: 'ONE', value: 'x'.repeat(characters - 7) },
      { name: 'TWO', value: 'y' },
    ]
    expect(secretVariableIssues([], all(16_384))).toEqual([])
    const message = "must have at most 16384 characters in all of the account's names and values together, not 16385."
    expect(secretVariableIssues([], all(16_385))).toEqual([{ path: 'env', message }])
  })
})
