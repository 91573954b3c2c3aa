import { expect, it } from 'vitest'
import { errorOf, kindOf } from '../../../src/providers/agent/failures.ts'
import {
  ContainerNotRunning,
  GpusTaken,
  MachineUnreachable,
  PortRefused,
  PortTaken,
} from '../../../src/providers/provider.ts'

it.each([ContainerNotRunning, GpusTaken, MachineUnreachable, PortRefused, PortTaken])(
  'tells a gateway of a %o as the driver of the host did',
  kind => {
    expect(errorOf(kindOf(new kind('Why.')), 'Why.')).toStrictEqual(new kind('Why.'))
  },
)

it('tells nothing of an error that callers do not know', () => {
  expect(kindOf(new TypeError('a path'))).toBe('other')
})
