// Permissions as lists, and as the object that the domain and REST have. Either says what the other does.

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
  misc: 'Search the market.',
  user_read: 'Read the account, its keys and its templates.',
  user_write: 'Change the account, its keys and its templates.',
  instance_read: 'Read instances and volumes.',
  instance_write: 'Rent, start, stop, label and destroy instances, and make and delete volumes.',
  billing_read: 'Read charges and spend limits.',
  billing_write: 'Set spend limits.',
  machine_read: 'Read the machines that the account hosts.',
  machine_write: 'Change the machines that the account hosts.',
  team_read: 'Read the team.',
  team_write: 'Change the team.',
}
const PermissionCategoryEnum = enumOf('PermissionCategory', 'What the operations are sorted by.', categoryDescriptions)

type ParametersByOperation = Partial<Record<string, object>>

/** The names in the table as names of GraphQL: INSTANCES_CHANGE_BID for instances.changeBid. */
const PermissionOperation = enumOf('PermissionOperation', 'What a key can be allowed to do.', describeOperations())

function describeOperations(): Record<Operation, string> {
  const texts = Object.entries(operationCategories).map(([operation, category]) => {
    const bounded = Object.keys((operationParameters as ParametersByOperation)[operation] ?? {}).map(
      name => `\`${name}\``,
    )
    const bounds = bounded.length > 0 ? ` Can be bounded by ${bounded.join(' and ')}.` : ''
    return [operation, `Elsewhere written \`${operation}\`; of the category ${category.toUpperCase()}.${bounds}`]
  })
  // The table has every operation; Object.entries forgets its keys.
  return Object.fromEntries(texts) as Record<Operation, string>
}

const ConstraintOperator = enumOf<Comparison>(
  'ConstraintOperator',
  'How a parameter is compared. Values of another type are outside.',
  {
    eq: 'Equal to this.',
    lte: 'This, or less.',
    gte: 'This, or greater.',
  },
)

const valueFields = {
  text: { description: 'A text.' },
  number: { description: 'A number, such as the integer of an id.' },
  boolean: { description: 'True or false.' },
}
const ConstraintValue = builder.objectRef<Bound>('ConstraintValue').implement({
  description: 'What a parameter is compared with. One of these is there.',
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
  description: 'What a parameter is compared with.',
  isOneOf: true,
  fields: t => ({
    text: t.string(valueFields.text),
    number: t.float(valueFields.number),
    boolean: t.boolean(valueFields.boolean),
  }),
})

const constraintDescription = 'Bounds a parameter of an operation. A request that leaves the parameter out is outside.'
const parameter = { description: 'Such as `id`.' }
const operator = { type: ConstraintOperator, description: 'How it is compared.' }
const value = 'What it is compared with.'
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

const permissionDescription = 'Allows a category of operations, or one of them.'
const category = { type: PermissionCategoryEnum, description: 'The category.' }
const operation = {
  type: PermissionOperation,
  description: 'The only one that is allowed. The whole category when absent.',
}
const constraints = 'All of them must hold. None for a whole category.'
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
  // readPermissions lets only known categories, operations and comparisons through.
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
