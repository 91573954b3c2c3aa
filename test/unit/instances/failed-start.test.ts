import { expect, it } from 'vitest'
import { startFaultOf } from '../../../src/domain/instances/failed-start.ts'

type Before = Parameters<typeof startFaultOf>[0]
type Found = Parameters<typeof startFaultOf>[1]

const loading: Before = { targetState: 'running', status: 'loading', reasonCode: 'STARTING', destroyed: false }
const pulling: Before = { ...loading, reasonCode: 'PULLING' }
const timedOut: Found = { status: 'exited', ran: false, reason: { code: 'START_TIMEOUT' } }
const failed: Found = { status: 'exited', ran: false, reason: { code: 'START_FAILED' } }
const offline: Found = { status: 'offline', ran: false, reason: { code: 'HOST_OFFLINE' } }

it.each<[string, Before, Found, string | undefined]>([
  ['the machine for a container that does not start in time', loading, timedOut, 'machine'],
  ['nobody alone for an image that is not pulled in time', pulling, timedOut, 'unclear'],
  ['a machine that does not answer', pulling, offline, 'machine'],
  ['whom the machine blames', loading, { ...failed, fault: 'machine' }, 'machine'],
  ['whom the machine blames, if that is unclear', loading, { ...failed, fault: 'unclear' }, 'unclear'],
  ['not the machine if it does not say so', loading, failed, undefined],
  ['not the machine for a container that exits', loading, { ...failed, reason: { code: 'EXITED' } }, undefined],
  ['nobody for an instance that ran', { ...loading, status: 'running' }, offline, undefined],
  ['nobody for an instance that should not run', { ...loading, targetState: 'stopped' }, offline, undefined],
  ['nobody for an instance that is destroyed', { ...loading, destroyed: true }, offline, undefined],
  ['nobody while the instance loads', loading, { ...failed, status: 'loading' }, undefined],
])('blames %s', (_who, before, found, fault) => {
  expect(startFaultOf(before, found)).toBe(fault)
})
