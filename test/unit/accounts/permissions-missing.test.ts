import { describe, expect, it } from 'vitest'
import { missingPermissions, printMissingPermission } from '../../../src/domain/accounts/permissions/missing.ts'
import type { Constraint, Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'

const missing = (granted: Permissions | null, wanted: Permissions | null) =>
  missingPermissions(granted, wanted).map(printMissingPermission)
const update = (constraints: Record<string, Constraint>): Permissions => ({
  api: { instance_write: { 'instances.update': { constraints } } },
})
const whole: Permissions = { api: { instance_write: {} } }

describe('what is wanted beyond what is granted', () => {
  it.each<[what: string, granted: Permissions | null, wanted: Permissions | null, lacks: string[]]>([
    ['full access, of full access', null, null, []],
    ['anything, of full access', null, whole, []],
    ['full access, of a category', whole, null, ['full access']],
    ['nothing, of nothing', { api: {} }, { api: {} }, []],
    ['a category, of nothing', { api: {} }, whole, ['instance_write']],
    ['a category, of one of its operations', update({}), whole, ['instance_write']],
    ['an operation, of its category', whole, update({}), []],
    ['an operation, of itself', update({}), update({}), []],
    ['an operation, of another category', { api: { misc: {} } }, update({}), ['instance_write for instances.update']],
    [
      'an operation, of itself with a constraint',
      update({ id: { eq: 5 } }),
      update({}),
      ['instance_write for instances.update without its constraint on id'],
    ],
    ['one with a constraint, of itself without', update({}), update({ id: { eq: 5 } }), []],
    [
      'several things, which are all named',
      update({ relabels: { eq: false } }),
      { api: { misc: {}, instance_write: { 'instances.update': {}, 'instances.rent': {} } } },
      [
        'misc',
        'instance_write for instances.update without its constraint on relabels',
        'instance_write for instances.rent',
      ],
    ],
  ])('%s', (_what, granted, wanted, expected) => {
    expect(missing(granted, wanted)).toEqual(expected)
  })

  it.each<[granted: Constraint, narrower: Constraint[], wider: Constraint[]]>([
    [{ eq: 5 }, [{ eq: 5 }, { eq: 5, lte: 9 }], [{ eq: 6 }, { lte: 5 }, { gte: 5 }, { eq: '5' }]],
    [{ lte: 5 }, [{ lte: 5 }, { lte: 4 }, { eq: 5 }, { lte: 4, gte: 1 }], [{ lte: 6 }, { eq: 6 }, { gte: 1 }]],
    [{ gte: 5 }, [{ gte: 5 }, { gte: 6 }, { eq: 5 }], [{ gte: 4 }, { eq: 4 }, { lte: 9 }]],
    [{ gte: 2, lte: 5 }, [{ eq: 3 }, { gte: 2, lte: 5 }, { gte: 3, lte: 4 }], [{ gte: 3 }, { lte: 4 }, { eq: 6 }]],
    [{ lte: 5 }, [], [{ lte: '4' }, { eq: true }, { eq: '3' }]],
  ])('a constraint of %o is passed on by no wider one', (granted, narrower, wider) => {
    const passes = (constraint: Constraint) =>
      missingPermissions(update({ id: granted }), update({ id: constraint })).length === 0
    expect(narrower.filter(passes)).toEqual(narrower)
    expect(wider.filter(passes)).toEqual([])
  })
})
