import { ContainerNotRunning, GpusTaken, MachineUnreachable, PortRefused, PortTaken } from '../provider.ts'
import type { FailureKind } from './protocol/messages.ts'

/** What went wrong, for the other side. The text of any other error may name what nobody else should read. */
export function kindOf(error: unknown): FailureKind {
  if (error instanceof MachineUnreachable) return 'unreachable'
  if (error instanceof ContainerNotRunning) return 'notRunning'
  if (error instanceof PortRefused) return 'portRefused'
  if (error instanceof GpusTaken) return 'gpusTaken'
  return error instanceof PortTaken ? 'portTaken' : 'other'
}

/** The error that callers of the provider know. A call of an outdated connection has reached no machine. */
export function errorOf(kind: FailureKind, message: string): Error {
  switch (kind) {
    case 'unreachable':
    case 'outdated':
      return new MachineUnreachable(message)
    case 'notRunning':
      return new ContainerNotRunning(message)
    case 'portRefused':
      return new PortRefused(message)
    case 'portTaken':
      return new PortTaken(message)
    case 'gpusTaken':
      return new GpusTaken(message)
    case 'unsupported':
    case 'other':
      return new Error(message)
  }
}
