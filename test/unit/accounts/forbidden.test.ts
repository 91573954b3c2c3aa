// What a key reads that has constraints, in the words of each face.

import { describe, expect, it } from 'vitest'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { printMessage } from '../../../src/graphql/errors/message.ts'
import { permissionErrors } from '../../../src/services/authorize.ts'

const permissions: Permissions = {
  api: {
    instance_write: {
      'instances.update': { constraints: { id: { eq: 31 }, starts: { eq: false } } },
      'volumes.create': { constraints: { sizeGb: { gte: 10, lte: 100 } } },
    },
  },
}
const actor = { accountId: 1, apiKeyId: 1, publicId: '', permissions }

function refusal(errors: DomainError[]): { rest: string | undefined; graphql: string | undefined } {
  const [error] = errors
  return { rest: error?.message, graphql: error && printMessage(error) }
}

describe('a request that constraints exclude', () => {
  it('is told which ones, and what they allow, as each face writes ids', () => {
    const update = (id: number | undefined, starts: boolean) =>
      refusal(permissionErrors(actor, 'instances.update', { id, starts, relabels: false }))
    const begin = 'This key may not do this: its permission'
    const [rest, graphql] = [
      `${begin} instance_write has constraints for instances.update that this request does not meet:`,
      `${begin} UPDATE_INSTANCE of the category INSTANCE_WRITE has constraints that this request does not meet:`,
    ]
    expect(update(32, false)).toEqual({ rest: `${rest} id must be 31.`, graphql: `${graphql} id must be ins_31.` })
    expect(update(31, true)).toEqual({
      rest: `${rest} starts must be false.`,
      graphql: `${graphql} starts must be false.`,
    })
    expect(update(undefined, true)).toEqual({
      rest: `${rest} id must be 31, starts must be false.`,
      graphql: `${graphql} id must be ins_31, starts must be false.`,
    })
    expect(update(31, false).rest).toBeUndefined()
  })

  it.each([
    [9, 'sizeGb must be at least 10.'],
    [101, 'sizeGb must be at most 100.'],
    [undefined, 'sizeGb must be at most 100, sizeGb must be at least 10.'],
  ])('is told the bounds of an amount: %s', (sizeGb, bounds) => {
    const { graphql } = refusal(permissionErrors(actor, 'volumes.create', { machineId: 1, sizeGb }))
    expect(graphql).toMatch(new RegExp(`^This key .* does not meet: ${bounds}$`))
  })

  it('is told of the missing permission if the key has none', () => {
    const [error] = permissionErrors(actor, 'instances.destroy', { id: 31 })
    expect(error).toBeInstanceOf(DomainError)
    expect(error?.message).toContain('lacks the permission')
  })
})
