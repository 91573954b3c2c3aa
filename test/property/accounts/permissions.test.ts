import fc from 'fast-check'
import { expect, it } from 'vitest'
import { missingPermissions } from '../../../src/domain/accounts/permissions/missing.ts'
import { parsePermissions } from '../../../src/domain/accounts/permissions/parse.ts'
import {
  isAllowed,
  type Operation,
  operationCategories,
  operationParameters,
  type PermissionCategory,
  type Permissions,
  permissionCategories,
} from '../../../src/domain/accounts/permissions/permissions.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 1_000)
const timeout = 20_000 + 100 * numRuns
const everything = Object.keys(operationCategories) as Operation[]
const namesOf = (operation: Operation) => Object.keys((operationParameters as Record<string, object>)[operation] ?? {})

// Few values and few operations, so that one set of permissions often covers another.
const bound = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<string | boolean>('0', '2', true, false) },
)
const constraint = fc.record({ eq: bound, lte: bound, gte: bound }, { requiredKeys: [] })
const grantOf = (category: PermissionCategory) => {
  const own = everything.filter(operation => operationCategories[operation] === category)
  const rules = own.map(operation => {
    const constraints = fc.record(
      Object.fromEntries([...namesOf(operation), 'other'].map(name => [name, constraint])),
      { requiredKeys: [] },
    )
    return [operation, fc.record({ constraints }, { requiredKeys: [] })] as const
  })
  return fc.oneof(fc.constant({}), fc.record(Object.fromEntries(rules), { requiredKeys: [] }))
}
const api = fc.record(
  { user_write: grantOf('user_write'), instance_write: grantOf('instance_write'), misc: grantOf('misc') },
  { requiredKeys: [] },
)
const permissions = fc.option(
  fc.record({ api }).map(written => written as Permissions),
  { freq: 20 },
)
const parameterValues = fc.record(
  { id: bound, relabels: bound, offerId: bound, machineId: bound, other: bound },
  { requiredKeys: [] },
)
const covers = (granted: Permissions | null, wanted: Permissions | null) =>
  missingPermissions(granted, wanted).length === 0

it(
  'lets no key create a key that may run an operation that its creator may not run',
  () => {
    let passed = 0
    const property = fc.property(
      permissions,
      permissions,
      fc.array(parameterValues, { minLength: 10 }),
      (granted, wanted, all) => {
        if (!covers(granted, wanted)) return
        passed += wanted && Object.keys(wanted.api).length > 0 ? 1 : 0
        for (const operation of everything)
          for (const one of all)
            expect(isAllowed(wanted, operation, one) && !isAllowed(granted, operation, one)).toBe(false)
      },
    )
    fc.assert(property, { seed, numRuns })
    expect(passed).toBeGreaterThan(0)
  },
  timeout,
)

it(
  'refuses a key only permissions that exceed its own, when each parameter has one bound',
  () => {
    const simple = fc.oneof(
      ...['eq', 'lte', 'gte'].map(name => fc.integer({ min: 0, max: 3 }).map(to => ({ [name]: to }))),
    )
    const update = fc
      .record({ id: simple, relabels: fc.boolean().map(eq => ({ eq })) }, { requiredKeys: [] })
      .map((constraints): Permissions => ({ api: { instance_write: { 'instances.update': { constraints } } } }))
    const values = [-1, 0, 1, 2, 3, 4].flatMap(id => [true, false].map(relabels => ({ id, relabels })))
    const property = fc.property(update, update, (granted, wanted) => {
      const beyond = values.some(
        one => isAllowed(wanted, 'instances.update', one) && !isAllowed(granted, 'instances.update', one),
      )
      expect(covers(granted, wanted)).toBe(!beyond)
    })
    fc.assert(property, { seed, numRuns })
  },
  timeout,
)

it(
  'compares permissions reflexively and transitively, with full access at the top and none at the bottom',
  () => {
    const property = fc.property(permissions, permissions, permissions, (a, b, c) => {
      expect([covers(a, a), covers(null, a), covers(a, { api: {} })]).toEqual([true, true, true])
      if (a !== null) expect(covers(a, null)).toBe(false)
      if (covers(a, b) && covers(b, c)) expect(covers(a, c)).toBe(true)
    })
    fc.assert(property, { seed, numRuns })
  },
  timeout,
)

it(
  'accepts or refuses any JSON as permissions, and accepts only existing categories',
  () => {
    const key = fc.oneof(
      fc.constantFrom('api', '__proto__', 'constraints', ...permissionCategories, ...everything),
      fc.string(),
    )
    const { json } = fc.letrec(tie => ({
      json: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom<unknown>(null, 1, 'x', true, []),
        fc.array(fc.tuple(key, tie('json'))).map(pairs => Object.fromEntries(pairs)),
      ),
    }))
    const property = fc.property(json, input => {
      const { permissions, issues } = parsePermissions(input)
      if (issues.length > 0 || permissions === null) return
      expect(covers(null, permissions)).toBe(true)
      expect(Object.keys(permissions.api).every(name => permissionCategories.includes(name as never))).toBe(true)
    })
    fc.assert(property, { seed, numRuns })
  },
  timeout,
)
