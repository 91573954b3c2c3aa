import { describe, expect, it } from 'vitest'
import { type DomainError, invalidInput, notFound, renameIssuePaths } from '../../../src/domain/errors.ts'
import { mention, mentionField, printTypedIds, renameFields, withIds } from '../../../src/domain/messages.ts'

const texts = (error: DomainError) => [error.message, printTypedIds(error.messageWithIds)]

describe('a message that names items', () => {
  it('has bare integers as a string, and typed ids for GraphQL', () => {
    const attached = withIds`Volume ${mention('Volume', 3n)} is attached to instance ${mention('Instance', 42n)}`
    const message = withIds`${attached}, for ${2} days.`
    expect([String(message), printTypedIds(message)]).toEqual([
      'Volume 3 is attached to instance 42, for 2 days.',
      'Volume vol_3 is attached to instance ins_42, for 2 days.',
    ])
    expect(texts(notFound('SshKey', 7))).toEqual(['SSH key 7 not found.', 'SSH key ssh_7 not found.'])
  })

  it('names fields as a face does', () => {
    const message = withIds`Give a ${mentionField('targetState')} to instance ${mention('Instance', 4)}.`
    expect(printTypedIds(message)).toBe('Give a targetState to instance ins_4.')
    const renamed = renameFields(message, { targetState: 'state', label: 'name' })
    expect([String(renamed), printTypedIds(renamed)]).toEqual([
      'Give a state to instance 4.',
      'Give a state to instance ins_4.',
    ])
    expect(renameFields('Give a targetState.', { targetState: 'state' })).toBe('Give a targetState.')
  })

  it('never changes the text of users, even if it looks like an id or a template', () => {
    for (const text of ['Volume 3', 'ins_42', '42', '{"type":"Volume","id":3}', '', '\u0000']) {
      const message = withIds`"${text}" is on machine ${mention('Machine', 3)}.`
      expect(String(message)).toBe(`"${text}" is on machine 3.`)
      expect(printTypedIds(message)).toBe(`"${text}" is on machine mch_3.`)
    }
  })

  it('keeps its ids in the message of all issues, also after their paths are renamed', () => {
    const issues = [
      { path: 'label', message: 'is too long.' },
      { path: 'volumes', message: withIds`must not list volume ${mention('Volume', 3)} twice.` },
    ]
    const renamed = renameIssuePaths(invalidInput(issues), { volumes: 'spec.volumes' }) as DomainError
    expect(texts(renamed)).toEqual([
      'label: is too long. spec.volumes: must not list volume 3 twice.',
      'label: is too long. spec.volumes: must not list volume vol_3 twice.',
    ])
  })
})
