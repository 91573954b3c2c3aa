import { describe, expect, it } from 'vitest'
import { ledgerActorOf, ledgerSubjectOf } from '../../../src/domain/billing/ledger.ts'

describe('the subject of a ledger entry', () => {
  it.each([
    ['an instance', { meter: { instanceId: 7n, volumeId: null } }, { type: 'Instance', id: 7n }],
    ['a volume', { meter: { instanceId: null, volumeId: 8n } }, { type: 'Volume', id: 8n }],
    ['credit', { meter: null }, { type: 'Account', id: 42n }],
  ])('is right for %s', (_of, entry, subject) => {
    expect(ledgerSubjectOf(entry, 42)).toEqual(subject)
  })
})

describe('the actor of a ledger entry', () => {
  it.each(['gpu', 'disk', 'refund'] as const)('is the key that the %s entry counts for', kind => {
    expect(ledgerActorOf({ kind, meter: { apiKeyId: 3 } })).toEqual({ kind: 'api_key', apiKeyId: 3 })
  })

  it('is Berth itself for a charge that counts for no key', () => {
    expect(ledgerActorOf({ kind: 'disk', meter: { apiKeyId: null } })).toEqual({ kind: 'system' })
  })

  it.each(['top_up', 'adjustment'] as const)('is the operator for the kind %s', kind => {
    expect(ledgerActorOf({ kind, meter: null })).toEqual({ kind: 'operator' })
  })
})
