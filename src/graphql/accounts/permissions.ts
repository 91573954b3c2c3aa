// Permissions in GraphQL are lists. The domain and REST use an object with the same content.

import {
  type Bound,
  type Comparison,
  type Constraints,
  type Operation,
  operationCategories,
  operationParameters,
  type PermissionCategory,
  type Permissions,
} from '../../domain/accounts/permissions/permissions.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { categoryName, operationNames, parameterIdType } from './operation-names.ts'

type ConstraintShape = { parameter: string; operator: Comparison; value: ValueShape }
/** `id`: the value as an id of its type, if the parameter takes ids. */
type ValueShape = { value: Bound; id: string | null }
type OperationShape = { operation: Operation; constraints: ConstraintShape[] }
type PermissionShape = { category: PermissionCategory } | { operation: OperationShape }

const categoryDescriptions: Record<PermissionCategory, string> = {
  misc: 'Search offers and volume offers; read machines and GPU models. REST calls it `misc`.',
  user_read: 'Read the account, its keys, templates, webhooks and events.',
  user_write: 'Change the account, its keys, templates and webhooks.',
  instance_read: 'Read instances and volumes.',
  instance_write: 'Rent, change, start, stop and destroy instances; create and delete volumes.',
  billing_read: 'Read costs, charges and spend limits.',
  billing_write: 'Set and delete spend limits.',
  machine_read: 'Read the machines that the account hosts.',
  machine_write: 'Change the machines that the account hosts. No operation of this category exists yet.',
  team_read: 'Read the members of the team. No operation of this category exists yet.',
  team_write: 'Change the members of the team. No operation of this category exists yet.',
}
const PermissionCategoryEnum = builder.enumType('PermissionCategory', {
  description: 'A group of operations. A permission for a category allows all of its operations, later ones too.',
  // Object.entries loses the type of the keys.
  values: Object.fromEntries(
    (Object.entries(categoryDescriptions) as [PermissionCategory, string][]).map(([value, description]) => [
      categoryName(value),
      { value, description },
    ]),
  ),
})

const listFormat = new Intl.ListFormat('en')
const updateParameters =
  '`relabels` is true if the request changes the label, `starts` if it starts an instance. With `EQ` false for both, a key can only stop instances.'

export const PermissionOperation = builder.enumType('PermissionOperation', {
  description:
    'An operation that an API key can be allowed to do. Its description lists the fields that it allows; most are named as one of them. New values may be added.',
  values: Object.fromEntries(
    (Object.entries(operationNames) as [Operation, string][]).map(([value, name]) => [
      name,
      { value, description: describeOperation(value) },
    ]),
  ),
})

function describeOperation(operation: Operation): string {
  const parameters = Object.keys((operationParameters as Partial<Record<Operation, object>>)[operation] ?? {}).map(
    name => `\`${name}\``,
  )
  const bounds = parameters.length > 0 ? ` Its constraints can use ${listFormat.format(parameters)}.` : ''
  const more = operation === 'instances.update' ? ` ${updateParameters}` : ''
  return `Part of ${categoryName(operationCategories[operation])}. Over REST it is \`${operation}\`.${bounds}${more}`
}

const ConstraintOperator = enumOf<Comparison>(
  'ConstraintOperator',
  'How a constraint compares the parameter with its value. A parameter of another type is refused. New values may be added.',
  {
    eq: 'The parameter must equal the value.',
    lte: 'The parameter must be less than or equal to the value.',
    gte: 'The parameter must be greater than or equal to the value.',
  },
)

const valueFields = {
  id: { description: 'The value, if the parameter takes an ID: an ID such as `ins_42`.' },
  text: { description: 'The value, if it is a string.' },
  number: { description: 'The value, if it is a number that is not an ID, such as a size in GB.' },
  boolean: { description: 'The value, if it is true or false.' },
}
const ConstraintValue = builder.objectRef<ValueShape>('ConstraintValue').implement({
  description:
    'The value that a constraint compares a parameter with. Exactly one of the fields is not null: an input takes this field alone.',
  fields: t => ({
    id: t.id({ ...valueFields.id, nullable: true, resolve: ({ id }) => id }),
    text: t.string({
      ...valueFields.text,
      nullable: true,
      resolve: ({ value }) => (typeof value === 'string' ? value : null),
    }),
    number: t.float({
      ...valueFields.number,
      nullable: true,
      resolve: ({ value, id }) => (typeof value === 'number' && id === null ? value : null),
    }),
    boolean: t.boolean({
      ...valueFields.boolean,
      nullable: true,
      resolve: ({ value }) => (typeof value === 'boolean' ? value : null),
    }),
  }),
})
export const ConstraintValueInput = builder.inputType('ConstraintValueInput', {
  description: 'The value that a constraint compares a parameter with.',
  isOneOf: true,
  fields: t => ({
    id: t.id(valueFields.id),
    text: t.string(valueFields.text),
    number: t.float(valueFields.number),
    boolean: t.boolean(valueFields.boolean),
  }),
})

const constraintDescription =
  'Restricts a parameter of an operation: `id` is the ID of what the request is about. A constraint on `id` must hold for each ID in the request, so a request without IDs, such as a command by filter, is refused.'
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

const operationFields = {
  operation: { type: PermissionOperation, description: 'The operation that is allowed.' },
  constraints: 'Restrictions of the operation; all must hold. An empty list, the default in inputs, restricts nothing.',
}
const operationDescription = 'Permission for one operation, if its parameters meet the constraints.'
const OperationPermission = builder.objectRef<OperationShape>('OperationPermission').implement({
  description: operationDescription,
  fields: t => ({
    operation: t.expose('operation', operationFields.operation),
    constraints: t.expose('constraints', {
      type: [PermissionConstraint],
      description: operationFields.constraints,
      complexity: { multiplier: 2 },
    }),
  }),
})
const OperationPermissionInput = builder.inputType('OperationPermissionInput', {
  description: operationDescription,
  fields: t => ({
    operation: t.field({ ...operationFields.operation, required: true }),
    constraints: t.field({
      type: [PermissionConstraintInput],
      required: true,
      defaultValue: [],
      description: operationFields.constraints,
    }),
  }),
})

const permissionFields = {
  category: { type: PermissionCategoryEnum, description: 'Category whose operations are all allowed.' },
  operation: 'The one operation that is allowed, with its constraints.',
}
export const ApiPermission = builder.objectRef<PermissionShape>('ApiPermission').implement({
  description:
    'Permission for a whole category of operations, or for one operation. Exactly one of the fields is not null: an input takes this field alone.',
  fields: t => ({
    category: t.field({
      ...permissionFields.category,
      nullable: true,
      resolve: permission => ('category' in permission ? permission.category : null),
    }),
    operation: t.field({
      type: OperationPermission,
      description: permissionFields.operation,
      nullable: true,
      resolve: permission => ('operation' in permission ? permission.operation : null),
    }),
  }),
})
export const ApiPermissionInput = builder.inputType('ApiPermissionInput', {
  description:
    'Permission for a whole category of operations, or for one operation. To write a permission that was read, leave out the fields that are null. A list can have each operation once.',
  isOneOf: true,
  fields: t => ({
    category: t.field(permissionFields.category),
    operation: t.field({ type: OperationPermissionInput, description: permissionFields.operation }),
  }),
})

/** The permissions as a list that createApiKey accepts. */
export function permissionRowsOf({ api }: Permissions): PermissionShape[] {
  // The casts are safe: `parsePermissions` accepts only known categories, operations and comparisons.
  return (Object.keys(api) as PermissionCategory[]).flatMap((category): PermissionShape[] => {
    const rules = Object.entries(api[category] ?? {}) as [Operation, { constraints?: Constraints }][]
    if (rules.length === 0) return [{ category }]
    return rules.map(([operation, { constraints = {} }]) => ({
      operation: {
        operation,
        constraints: Object.entries(constraints).flatMap(([parameter, bounds]) =>
          Object.entries(bounds).map(([operator, value]) => ({
            parameter,
            operator: operator as Comparison,
            value: { value, id: printBoundId(operation, parameter, value) },
          })),
        ),
      },
    }))
  })
}

/** REST accepts any number as the bound of an id. One that is no id is printed as a number. */
function printBoundId(operation: Operation, parameter: string, value: Bound): string | null {
  const type = parameterIdType(operation, parameter)
  return type && typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? printId(type, value) : null
}
