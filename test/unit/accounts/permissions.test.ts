import { describe, expect, it } from 'vitest'
import { parsePermissions } from '../../../src/domain/accounts/permissions/parse.ts'
import {
  isAllowed,
  type Operation,
  operationCategories,
  permissionCategories,
} from '../../../src/domain/accounts/permissions/permissions.ts'

const granted = (api: object) => parsePermissions({ api }).permissions

describe('a key', () => {
  const everything = Object.keys(operationCategories) as Operation[]

  it('may do everything when its permissions are null, and nothing when they are empty', () => {
    expect(everything.every(operation => isAllowed(null, operation))).toBe(true)
    expect(everything.some(operation => isAllowed({ api: {} }, operation))).toBe(false)
  })

  it.each(permissionCategories)(
    'with only %s may perform the operations of that category and no other operations',
    category => {
      const allowed = everything.filter(operation => isAllowed({ api: { [category]: {} } }, operation))
      expect(allowed).toEqual(everything.filter(operation => operationCategories[operation] === category))
    },
  )

  it('with some operations of a category may perform only those operations', () => {
    const permissions = granted({ misc: { 'offers.get': {} } })
    expect(isAllowed(permissions, 'offers.get')).toBe(true)
    expect(isAllowed(permissions, 'offers.search')).toBe(false)
  })

  it('may perform an operation only within its constraints', () => {
    const permissions = granted({
      misc: { 'offers.get': { constraints: { id: { gte: 5, lte: 7 }, kind: { eq: 'a' } } } },
    })
    const allowed = (parameters: object) => isAllowed(permissions, 'offers.get', { ...parameters })
    expect([4, 5, 7, 8].map(id => allowed({ id, kind: 'a' }))).toEqual([false, true, true, false])
    expect(allowed({ id: 5, kind: 'b' })).toBe(false)
    expect(allowed({ id: '6', kind: 'a' })).toBe(false)
    expect(allowed({ kind: 'a' })).toBe(false)
  })

  it.each([
    [{ lte: 10 }, [5, 10], ['5', '10', true, null, undefined, [5], 11]],
    [{ gte: 5 }, [5, 10], ['5', '10', true, null, undefined, [5], 4]],
    [{ eq: 5 }, [5], ['5', true, null, undefined, [5], 4]],
    [{ lte: 'b' }, ['a', 'b'], [1, false, null, undefined, ['a'], 'c']],
  ])('constrained by %o is allowed only values of the same type within it', (constraint, inside, outside) => {
    const permissions = granted({ misc: { 'offers.get': { constraints: { id: constraint } } } })
    const allowed = (id: unknown) => isAllowed(permissions, 'offers.get', { id })
    expect(inside.filter(allowed)).toEqual(inside)
    expect(outside.filter(allowed)).toEqual([])
  })
})

const bounded = (parameter: string, bounds: unknown) => {
  const constraints = JSON.parse(`{${JSON.stringify(parameter)}: ${JSON.stringify(bounds)}}`)
  return { api: { instance_write: { 'instances.update': { constraints } } } }
}

describe('permissions in a request', () => {
  it.each([null, undefined])('mean full access when %s', input => {
    expect(parsePermissions(input)).toEqual({ permissions: null, issues: [] })
  })

  it('are kept unchanged when they are valid', () => {
    const input = { api: { misc: {}, user_write: { 'apiKeys.reset': { constraints: { id: { eq: 1 } } } } } }
    expect(parsePermissions(input)).toEqual({ permissions: input, issues: [] })
  })

  it.each([
    ['all', 'permissions: must be an object.'],
    [[], 'permissions: must be an object.'],
    [{}, 'permissions: must have the key "api"'],
    [{ api: null }, 'permissions.api: must be an object.'],
    [{ api: [] }, 'permissions.api: must be an object.'],
    [{ api: { misc: [] } }, 'permissions.api.misc: must be an object.'],
    [JSON.parse('{"__proto__": {"api": {}}}'), 'permissions: has the unknown key "__proto__"'],
    [JSON.parse('{"api": {"__proto__": {}}}'), 'permissions.api.__proto__: is not a category'],
    [JSON.parse('{"api": {"misc": {"__proto__": {}}}}'), 'permissions.api.misc.__proto__: is not an operation'],
    [
      bounded('__proto__', { eq: 1 }),
      'constraints.__proto__: is not a parameter of this operation, which has id, relabels, starts.',
    ],
    [bounded('constructor', { eq: 1 }), 'constraints.constructor: is not a parameter'],
    [
      bounded('label', { eq: 1 }),
      'constraints.label: is not a parameter of this operation, which has id, relabels, starts.',
    ],
    [bounded('id', JSON.parse('{"__proto__": 1}')), 'constraints.id: has the unknown comparison "__proto__"'],
    [bounded('id', { eq: '5' }), 'constraints.id.eq: must be a finite number.'],
    // JSON.parse reads this as Infinity, and JSON.stringify writes Infinity as null.
    [
      JSON.parse('{"api": {"instance_write": {"instances.update": {"constraints": {"id": {"lte": 1e400}}}}}}'),
      'constraints.id.lte: must be a finite number.',
    ],
    [
      { api: { instance_write: { 'instances.update': { constraints: { id: { gte: Number.NaN } } } } } },
      'constraints.id.gte: must be a finite number.',
    ],
    [bounded('relabels', { eq: 0 }), 'constraints.relabels.eq: must be true or false.'],
    [{ api: { misc: { 'offers.get': { constraints: { id: { eq: 5 } } } } } }, 'this operation, which has none.'],
    [{ api: { misc: { 'offers.get': { constraints: [] } } } }, 'constraints: must be an object.'],
    [{ api: {}, more: 1 }, 'permissions: has the unknown key "more"; only "api" is allowed.'],
    [{ api: { mist: {} } }, 'permissions.api.mist: is not a category; use one of misc, user_read'],
    [{ api: { constructor: {} } }, 'permissions.api.constructor: is not a category'],
    [{ api: { misc: true } }, 'permissions.api.misc: must be an object.'],
    [
      { api: { misc: { rent: {} } } },
      'permissions.api.misc.rent: is not an operation of this category, which has offers.search',
    ],
    [{ api: { misc: { 'accounts.viewer': {} } } }, 'permissions.api.misc.accounts.viewer: is not an operation'],
    [{ api: { misc: { constructor: {} } } }, 'permissions.api.misc.constructor: is not an operation'],
    [{ api: { team_read: { x: {} } } }, 'this category, which has none'],
    [{ api: { misc: { 'offers.get': { only: 1 } } } }, 'has the unknown key "only"; only "constraints" is allowed.'],
    [bounded('id', {}), 'must have at least one of eq, lte, gte.'],
    [bounded('id', { ne: 1 }), 'unknown comparison "ne"; use one of eq, lte, gte.'],
    [bounded('id', { eq: [] }), 'must be a finite number.'],
  ])('are refused as %o', (input, message) => {
    const messages = parsePermissions(input).issues.map(({ path, message }) => `${path}: ${message}`)
    expect(messages.join('\n')).toContain(message)
  })

  it('are refused with every issue at once', () => {
    expect(parsePermissions({ api: { mist: {}, misc: { rent: {} } } }).issues).toHaveLength(2)
  })

  it('are refused with a short message, however many issues there are', () => {
    const deep = JSON.parse(`${'{"api":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, {}]))
    const long = { ['x'.repeat(50_000)]: {} }
    for (const api of [deep, many, long]) {
      const { issues } = parsePermissions({ api })
      expect(issues.length).toBeGreaterThan(0)
      expect(JSON.stringify(issues).length).toBeLessThan(20_000)
    }
  })
})
