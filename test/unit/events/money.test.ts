import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/domain/events/events.ts'
import { messageOf } from '../../../src/domain/events/message.ts'
import { payloadOf } from '../../../src/domain/events/payload.ts'

const createdAt = new Date('2026-11-21T12:00:00.000Z')
const event = (kind: Event['kind'], after: object, reason: string | null = null): Event => ({
  ...{ id: 7n, xid: 9n, kind, accountId: 3, instanceId: null, before: null, reason, note: null, createdAt },
  ...{ actorKind: 'system', apiKeyId: null, subjectType: 'Account', subjectId: 3n },
  after: { creditNanos: '-1500000000', costPerHourNanos: '4000000', ...after },
})
const credit = { credit: '-1.5', costPerHour: '0.004' }

describe('an event about money', () => {
  it('says when credit runs out', () => {
    const endsAt = '2026-11-22T12:00:00.000Z'
    const low = event('ACCOUNT_LOW_CREDIT', { endsAt })
    expect(payloadOf(low).after).toEqual({ ...credit, endsAt })
    expect(messageOf(low)).toBe(`Credit runs out at ${endsAt} at the current rate.`)
  })

  it('says whether credit was granted or deducted, to the nano-dollar', () => {
    const changed = (before: string, after: string) =>
      messageOf({ ...event('CREDIT_GRANTED', { creditNanos: after }, 'a mistake'), before: { creditNanos: before } })
    expect(changed('-9007199254740993', '-9007199254740992')).toBe('Credit granted.')
    expect(changed('9007199254740993', '9007199254740992')).toBe('Credit deducted.')
  })

  it('repeats no free text of an operator as a reason, note: null, whatever the text says', () => {
    const granted = (reason: string) =>
      messageOf({ ...event('CREDIT_GRANTED', {}, reason), before: { creditNanos: '-2000000000' } })
    expect(['constructor', 'toString', '__proto__'].map(granted)).toEqual(Array(3).fill('Credit granted.'))
  })

  it('says what a spend limit did when it was reached', () => {
    const reached = (action: string) => messageOf(event('ACCOUNT_SPEND_LIMIT', { window: 'day', action }))
    expect(reached('stop_running')).toBe('Spend limit reached: the instances that it counts are stopped.')
    expect(reached('notify')).toBe('Spend limit reached.')
  })

  it('says that credit ran out', () => {
    const ended = event('ACCOUNT_CREDIT_ENDED', { endedAt: createdAt.toISOString() })
    expect(payloadOf(ended).after).toEqual({ ...credit, endedAt: createdAt.toISOString() })
    expect(messageOf(ended)).toBe('Credit ran out: running instances were stopped.')
  })

  it('says what debt destroys and when', () => {
    const destroysAt = '2026-11-23T12:00:00.000Z'
    const ids = { instanceIds: ['5', '6'], volumeIds: ['8'], instances: 2, volumes: 1 }
    const debt = event('ACCOUNT_DEBT', { since: createdAt.toISOString(), destroysAt, ...ids })
    const printed = { ...ids, instanceIds: ['ins_5', 'ins_6'], volumeIds: ['vol_8'] }
    expect(payloadOf(debt).after).toEqual({ ...credit, since: createdAt.toISOString(), destroysAt, ...printed })
    expect(messageOf(debt)).toContain(destroysAt)
  })

  it('says why Berth stopped or destroyed an instance', () => {
    const stopped = { ...event('INSTANCE_TARGET_CHANGED', { targetState: 'stopped' }, 'NO_CREDIT'), instanceId: 5n }
    expect(messageOf(stopped)).toBe('Instance stop requested. The account ran out of credit.')
    const destroyed = { ...event('INSTANCE_DESTROYED', {}, 'DEBT'), instanceId: 5n }
    expect(messageOf(destroyed)).toBe('Instance destroyed. The account stayed in debt past the grace period.')
  })
})
