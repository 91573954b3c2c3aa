import { describe, expect, it } from 'vitest'
import { findOwnershipProblem, parseFailureCause } from '../../../src/database/embedded/cluster-check.ts'

describe('a PostgreSQL folder', () => {
  it.each([
    [{ uid: 70, mode: 0o40700 }, 70, undefined],
    [{ uid: 70, mode: 0o40750 }, 70, undefined],
    [{ uid: 70, mode: 0o40777 }, undefined, undefined],
    [
      { uid: 0, mode: 0o40700 },
      70,
      'The folder belongs to user 0, but PostgreSQL runs as user 70. Change its owner: chown -R 70.',
    ],
    [
      { uid: 7, mode: 0o40777 },
      70,
      'The folder belongs to user 7, but PostgreSQL runs as user 70. Change its owner: chown -R 70.',
    ],
    [
      { uid: 70, mode: 0o40770 },
      70,
      "The folder's mode is 0770, but PostgreSQL accepts only 0700 or 0750. Change it: chmod 0700.",
    ],
    [
      { uid: 70, mode: 0o40701 },
      70,
      "The folder's mode is 0701, but PostgreSQL accepts only 0700 or 0750. Change it: chmod 0700.",
    ],
  ])('with %j serves user %s, or reports the problem', (entry, user, problem) => {
    expect(findOwnershipProblem(entry, user)).toBe(problem)
  })
})

describe('the cause of a failed start', () => {
  it.each([
    ['', undefined],
    ['2026-11-22 12:00:00 UTC [7] LOG:  starting PostgreSQL 18.4', undefined],
    [
      'x LOG:  a\nx FATAL:  lock file "p" already exists\nx HINT:  Is another postmaster running?\nx FATAL:  later\n',
      'Lock file "p" already exists. Is another postmaster running?',
    ],
    ['x PANIC:  could not locate a valid checkpoint record\n', 'Could not locate a valid checkpoint record.'],
    [
      'initdb failed: initdb: error: could not write file "x": No space left on device\ninitdb: removing contents',
      'Could not write file "x": No space left on device.',
    ],
  ])('is the first fatal line, with its hints: %j', (printed, cause) => {
    expect(parseFailureCause(printed)).toBe(cause)
  })
})
