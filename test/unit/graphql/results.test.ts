import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isObjectType,
  isUnionType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { type RefusalCode, refusals } from '../../../src/graphql/errors/codes.ts'
import { schema } from '../../../src/graphql/schema.ts'

const idempotency = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const
/** What `checkAdmission` refuses. */
const admission = ['INSUFFICIENT_CREDIT', 'QUOTA_EXCEEDED', 'START_BACKOFF'] as const
const rental = [
  ...(['INVALID_INPUT', 'NOT_FOUND', 'SPEND_LIMIT_EXCEEDED', 'SSH_KEY_REQUIRED', 'VOLUME_UNAVAILABLE'] as const),
  ...admission,
  ...idempotency,
]

/** The errors that the service of each mutation throws. A new mutation is listed here with its own. */
const errorsOf: Record<string, readonly RefusalCode[]> = {
  attachSshKey: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  createApiKey: ['INVALID_INPUT', 'CONFLICT', ...idempotency],
  createSpendLimit: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', ...idempotency],
  createSshKey: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', 'CONFLICT', ...idempotency],
  createTemplate: ['INVALID_INPUT', 'CONFLICT', ...idempotency],
  createVolume: [
    ...(['INVALID_INPUT', 'OFFER_UNAVAILABLE', 'PRICE_CHANGED', 'SPEND_LIMIT_EXCEEDED'] as const),
    // Nothing starts, so no start has to wait.
    ...(['INSUFFICIENT_CREDIT', 'QUOTA_EXCEEDED'] as const),
    ...idempotency,
  ],
  createWebhook: ['INVALID_INPUT', 'CONFLICT', ...idempotency],
  deleteApiKey: ['INVALID_INPUT', 'NOT_FOUND'],
  deleteSecretVariables: ['INVALID_INPUT', 'NOT_FOUND'],
  deleteSpendLimit: ['INVALID_INPUT', 'NOT_FOUND'],
  deleteSshKey: ['INVALID_INPUT', 'NOT_FOUND'],
  deleteTemplate: ['INVALID_INPUT', 'NOT_FOUND'],
  deleteVolume: ['INVALID_INPUT', 'NOT_FOUND', 'VOLUME_UNAVAILABLE'],
  deleteWebhook: ['INVALID_INPUT', 'NOT_FOUND'],
  // The errors of one instance are in its item.
  destroyInstance: ['INVALID_INPUT', 'NOT_FOUND'],
  destroyInstances: ['INVALID_INPUT'],
  startInstance: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', 'SPEND_LIMIT_EXCEEDED', ...admission],
  startInstances: ['INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'SPEND_LIMIT_EXCEEDED'],
  stopInstance: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  stopInstances: ['INVALID_INPUT'],
  detachSshKey: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  executeCommand: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  // A reboot keeps the GPUs and is charged as before, so it is not admitted anew.
  rebootInstance: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', ...idempotency],
  recycleInstance: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', ...admission, ...idempotency],
  // Errors of single offers are in `attempts`.
  rentBestOffer: [...rental, 'NO_OFFER_RENTED'],
  rentInstance: [...rental, 'OFFER_UNAVAILABLE', 'PRICE_CHANGED', 'BID_TOO_LOW'],
  rotateApiKeySecret: ['INVALID_INPUT', 'NOT_FOUND', ...idempotency],
  rotateWebhookSecret: ['INVALID_INPUT', 'NOT_FOUND', ...idempotency],
  testWebhook: ['INVALID_INPUT', 'NOT_FOUND'],
  updateApiKey: ['INVALID_INPUT', 'NOT_FOUND'],
  updateInstance: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  updateInstanceBid: [
    ...(['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', 'BID_TOO_LOW', 'SPEND_LIMIT_EXCEEDED'] as const),
    ...admission,
  ],
  updateInstancePolicy: ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
  // Credit and limits are checked for the command as a whole; the other errors of one instance are in its item.
  updateInstances: ['INVALID_INPUT'],
  updateSecretVariables: ['INVALID_INPUT', 'CONFLICT'],
  updateSpendLimit: ['INVALID_INPUT', 'NOT_FOUND'],
  updateSshKey: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
  updateVolume: ['INVALID_INPUT', 'NOT_FOUND'],
  updateWebhook: ['INVALID_INPUT', 'NOT_FOUND'],
  updateTemplate: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', ...idempotency],
}

const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
const typeNameOf = ({ name }: { name: string }) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`
const membersOf = ({ type }: GraphQLField<unknown, unknown>) => {
  const result = getNamedType(type)
  return isUnionType(result) ? result.getTypes() : expect.fail(`${result.name} is no union.`)
}
const isError = (member: GraphQLObjectType) => member.getInterfaces().some(({ name }) => name === 'Error')
const inputOf = ({ args }: GraphQLField<unknown, unknown>) => {
  const [input] = args.map(({ type }) => getNamedType(type)).filter(isInputObjectType)
  return input ?? expect.fail('The mutation has no input.')
}

it('has as many mutations as the list of their errors', () => {
  expect(mutations.map(({ name }) => name).toSorted()).toEqual(Object.keys(errorsOf).toSorted())
})

describe.each(mutations.map(mutation => [mutation.name, mutation] as const))('the mutation %s', (name, mutation) => {
  it('has one required argument, an input of its own', () => {
    expect(mutation.args.map(arg => `${arg.name}: ${arg.type}`)).toEqual([`input: ${typeNameOf(mutation)}Input!`])
  })

  it('returns a result of its own: its success, or an error', () => {
    const result = `${typeNameOf(mutation)}Result`
    expect(getNamedType(mutation.type).name).toBe(result)
    const successes = membersOf(mutation).filter(member => !isError(member))
    expect(successes.map(success => success.name)).toEqual([`${typeNameOf(mutation)}Success`])
  })

  it('lists exactly the errors that its service throws', () => {
    const types = (errorsOf[name] ?? []).map(code => refusals[code].type)
    const errors = membersOf(mutation).filter(isError)
    expect(errors.map(error => error.name).toSorted()).toEqual([...new Set(types)].toSorted())
  })

  it('has IdempotencyError exactly if it takes an idempotency key', () => {
    const takesKey = 'idempotencyKey' in inputOf(mutation).getFields()
    expect(membersOf(mutation).some(({ name: member }) => member === 'IdempotencyError')).toBe(takesKey)
  })

  it('has NotFoundError if it is about an item that its id names', () => {
    if (!('id' in inputOf(mutation).getFields())) return
    expect(membersOf(mutation).map(member => member.name)).toContain('NotFoundError')
  })
})

describe('a type that only one mutation may use', () => {
  it.each(['Result', 'Success'])('is no other %s type', ending => {
    const types = Object.keys(schema.getTypeMap()).filter(type => type.endsWith(ending))
    expect(types.toSorted()).toEqual(mutations.map(mutation => `${typeNameOf(mutation)}${ending}`).toSorted())
  })

  it('is never called a payload', () => {
    expect(Object.keys(schema.getTypeMap()).filter(type => type.endsWith('Payload'))).toEqual([])
  })
})

describe('an error', () => {
  const errors = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .filter(({ name }) => name.endsWith('Error'))

  it.each(errors.map(error => [error.name, error] as const))('of the type %s implements Error', (_name, error) => {
    expect(isError(error)).toBe(true)
  })

  it('can happen in a mutation, or blocks the rental of a quote', () => {
    const used = new Set(mutations.flatMap(mutation => membersOf(mutation).map(({ name }) => name)))
    expect(errors.map(({ name }) => name).filter(name => !used.has(name))).toEqual(['ForbiddenError'])
  })

  it('has a name for each code', () => {
    expect([...new Set(Object.values(refusals).map(({ type }) => type))].toSorted()).toEqual(
      errors.map(({ name }) => name).toSorted(),
    )
  })
})
