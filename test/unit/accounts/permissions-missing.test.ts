import { describe, expect, it } from 'vitest'
import { missingPermissions, printMissingPermission } from '../../../src/domain/accounts/permissions/missing.ts'
import type { Constraint, Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'

const missing = (granted: Permissions | null, wanted: Permissions | null) =>
  missingPermissions(granted, wanted).map(printMissingPermission)
const update = (constraints: Record<string, Constraint>): Permissions => ({
  api: { instance_write: { 'instances.update': { constraints } } },
})
const whole: Permissions = { api: { instance_write: {} } }

describe('missing permissions', () => {
  it.each<[what: string, granted: Permissions | null, wanted: Permissions | null, lacks: string[]]>([
    ['are none when full access is granted and wanted', null, null, []],
    ['are none when full access is granted and a category is wanted', null, whole, []],
    ['are full access when only a category is granted', whole, null, ['full access']],
    ['are none when nothing is granted and nothing is wanted', { api: {} }, { api: {} }, []],
    ['are the category when nothing is granted', { api: {} }, whole, ['instance_write']],
    ['are the whole category when one of its operations is granted', update({}), whole, ['instance_write']],
    ['are none for an operation of a granted category', whole, update({}), []],
    ['are none for a granted operation', update({}), update({}), []],
    [
      'are the operation when another category is granted',
      { api: { misc: {} } },
      update({}),
      ['instance_write for instances.update'],
    ],
    [
      'are the constraint when the operation is granted only with that constraint',
      update({ id: { eq: 5 } }),
      update({}),
      ['instance_write for instances.update without its constraint on id'],
    ],
    [
      'are none for a constraint on an operation that is granted without a constraint',
      update({}),
      update({ id: { eq: 5 } }),
      [],
    ],
    [
      'are all named when there are several',
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
  ])('include an operation constrained by %o exactly when a wider constraint is wanted', (granted, narrower, wider) => {
    const passes = (constraint: Constraint) =>
      missingPermissions(update({ id: granted }), update({ id: constraint })).length === 0
    expect(narrower.filter(passes)).toEqual(narrower)
    expect(wider.filter(passes)).toEqual([])
  })
})
