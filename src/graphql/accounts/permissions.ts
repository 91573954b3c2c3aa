// Permissions in GraphQL are lists. The domain and REST use an object with the same content.

import {
  type Bound,
  type Comparison,
  type Operation,
  operationCategories,
  operationParameters,
  type PermissionCategory,
  type Permissions,
} from '../../domain/accounts/permissions/permissions.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'

type ConstraintShape = { parameter: string; operator: Comparison; value: Bound }
type PermissionShape = { category: PermissionCategory; operation: Operation | null; constraints: ConstraintShape[] }

const categoryDescriptions: Record<PermissionCategory, string> = {
  misc: 'Search offers, volume offers and machines.',
  user_read: 'Read the account, its keys, templates, webhooks and events.',
  user_write: 'Change the account, its keys, templates and webhooks.',
  instance_read: 'Read instances and volumes.',
  instance_write: 'Rent, change, start, stop and destroy instances; create and delete volumes.',
  billing_read: 'Read costs, charges and spend limits.',
  billing_write: 'Set and delete spend limits.',
  machine_read: 'Read the machines that the account hosts.',
  machine_write: 'Change the machines that the account hosts.',
  team_read: 'Read the team.',
  team_write: 'Change the team.',
}
const PermissionCategoryEnum = enumOf(
  'PermissionCategory',
  'A group of operations. A permission for a category allows all of its operations.',
  categoryDescriptions,
)

type ParametersByOperation = Partial<Record<string, object>>

const PermissionOperation = enumOf(
  'PermissionOperation',
  'An operation that an API key can be allowed to do.',
  describeOperations(),
)

function describeOperations(): Record<Operation, string> {
  const texts = Object.entries(operationCategories).map(([operation, category]) => {
    const bounded = Object.keys((operationParameters as ParametersByOperation)[operation] ?? {}).map(
      name => `\`${name}\``,
    )
    const bounds = bounded.length > 0 ? ` Its constraints can use ${bounded.join(' and ')}.` : ''
    return [operation, `Allows \`${operation}\`, an operation of the category ${category.toUpperCase()}.${bounds}`]
  })
  // The table has every operation; Object.entries loses the type of its keys.
  return Object.fromEntries(texts) as Record<Operation, string>
}

const ConstraintOperator = enumOf<Comparison>(
  'ConstraintOperator',
  'How a constraint compares the parameter with its value. A parameter of another type is refused.',
  {
    eq: 'The parameter must equal the value.',
    lte: 'The parameter must be less than or equal to the value.',
    gte: 'The parameter must be greater than or equal to the value.',
  },
)

const valueFields = {
  text: { description: 'The value, if it is a string.' },
  number: { description: 'The value, if it is a number, such as the integer of an ID.' },
  boolean: { description: 'The value, if it is true or false.' },
}
const ConstraintValue = builder.objectRef<Bound>('ConstraintValue').implement({
  description: 'The value that a constraint compares a parameter with. Exactly one of the fields is not null.',
  fields: t => ({
    text: t.string({
      ...valueFields.text,
      nullable: true,
      resolve: value => (typeof value === 'string' ? value : null),
    }),
    number: t.float({
      ...valueFields.number,
      nullable: true,
      resolve: value => (typeof value === 'number' ? value : null),
    }),
    boolean: t.boolean({
      ...valueFields.boolean,
      nullable: true,
      resolve: value => (typeof value === 'boolean' ? value : null),
    }),
  }),
})
const ConstraintValueInput = builder.inputType('ConstraintValueInput', {
  description: 'The value that a constraint compares a parameter with.',
  isOneOf: true,
  fields: t => ({
    text: t.string(valueFields.text),
    number: t.float(valueFields.number),
    boolean: t.boolean(valueFields.boolean),
  }),
})

const constraintDescription =
  'Restricts a parameter of an operation. Requests that leave the parameter out are refused.'
const parameter = { description: 'Name of the parameter, such as `id`.' }
const operator = { type: ConstraintOperator, description: 'How the parameter is compared with the value.' }
const value = 'Value that the parameter is compared with.'
const PermissionConstraint = builder.objectRef<ConstraintShape>('PermissionConstraint').implement({
  description: constraintDescription,
  fields: t => ({
    parameter: t.exposeString('parameter', parameter),
    operator: t.expose('operator', operator),
    value: t.expose('value', { type: ConstraintValue, description: value }),
  }),
})
export const PermissionConstraintInput = builder.inputType('PermissionConstraintInput', {
  description: constraintDescription,
  fields: t => ({
    parameter: t.string({ ...parameter, required: true }),
    operator: t.field({ ...operator, required: true }),
    value: t.field({ type: ConstraintValueInput, required: true, description: value }),
  }),
})

const permissionDescription = 'Permission for a category of operations, or for one operation of it.'
const category = { type: PermissionCategoryEnum, description: 'Category of the allowed operations.' }
const operation = {
  type: PermissionOperation,
  description: 'The one operation that is allowed. Absent or null: all operations of the category.',
}
const constraints = 'Constraints on the operation; all must hold. Empty for a whole category.'
export const ApiPermission = builder.objectRef<PermissionShape>('ApiPermission').implement({
  description: permissionDescription,
  fields: t => ({
    category: t.expose('category', category),
    operation: t.expose('operation', { ...operation, nullable: true }),
    constraints: t.expose('constraints', {
      type: [PermissionConstraint],
      description: constraints,
      complexity: { multiplier: 2 },
    }),
  }),
})
export const ApiPermissionInput = builder.inputType('ApiPermissionInput', {
  description: permissionDescription,
  fields: t => ({
    category: t.field({ ...category, required: true }),
    operation: t.field(operation),
    constraints: t.field({
      type: [PermissionConstraintInput],
      required: true,
      defaultValue: [],
      description: constraints,
    }),
  }),
})

export function permissionRowsOf({ api }: Permissions): PermissionShape[] {
  // The casts are safe: `parsePermissions` accepts only known categories, operations and comparisons.
  return (Object.keys(api) as PermissionCategory[]).flatMap((category): PermissionShape[] => {
    const rules = Object.entries(api[category] ?? {})
    if (rules.length === 0) return [{ category, operation: null, constraints: [] }]
    return rules.map(([operation, { constraints = {} }]) => ({
      category,
      operation: operation as Operation,
      constraints: Object.entries(constraints).flatMap(([parameter, bounds]) =>
        Object.entries(bounds).map(([operator, value]) => ({ parameter, operator: operator as Comparison, value })),
      ),
    }))
  })
}
