import { expect, it } from 'vitest'
import { canonicalRequest } from '../../../src/domain/instances/rent/canonical-request.ts'
import { emptyEnvironment } from '../../../src/domain/launch/env.ts'

const canonical = (launch: Parameters<typeof canonicalRequest>[0]['launch']) =>
  canonicalRequest({ offerId: 7n, launch })

it('leaves out what is empty, false or the default', () => {
  const launch = { image: 'ubuntu', label: '', vm: false, targetState: 'running' } as const
  expect(canonical({ ...launch, newVolumes: [], environment: emptyEnvironment() })).toEqual({
    offerId: 7n,
    launch: { image: 'ubuntu' },
  })
})

it('keeps what differs', () => {
  const environment = { ...emptyEnvironment(), env: [{ name: 'A', value: '' }] }
  expect(canonical({ image: 'ubuntu', vm: true, targetState: 'stopped', environment })['launch']).toEqual({
    ...{ image: 'ubuntu', vm: true, targetState: 'stopped' },
    env: [{ name: 'A', value: '' }],
  })
})
