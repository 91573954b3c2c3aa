// The reasons of statuses, in words for renters.

import type { TargetReason } from '../domain/instances/instances.ts'
import { type Reason, reasonMessages } from '../domain/reasons.ts'
import type { InstanceState } from './instance-state.ts'

/** Reasons that stop an instance. The excluded ones destroy it, so no status shows them. */
const stopMessages: Record<Exclude<TargetReason, 'DEBT' | 'RENTAL_ENDED' | 'REPLACED' | 'NOT_REPLACED'>, string> = {
  USER_REQUEST: 'The renter asked to stop the instance.',
  OPERATOR_REQUEST: reasonMessages.OPERATOR_REQUEST,
  ACCOUNT_DISABLED: reasonMessages.ACCOUNT_DISABLED,
  NO_CREDIT: 'The account ran out of credit.',
  SPEND_LIMIT: 'The instance counts toward a spend limit that was reached.',
  SCHEDULE: 'The instance reached its scheduled stop time.',
  COST_LIMIT: 'The instance reached its cost limit.',
  IDLE: 'The GPUs were idle for as long as the policy of the instance allows.',
}

/**
 * Why an instance must be stopped. An instance that was rented as stopped has no target reason: the renter wanted it
 * stopped. A message counts for operators' reasons alone: gateways of an older version leave it when they change the target.
 */
export function stopReasonOf({
  targetReason,
  targetMessage,
}: Pick<InstanceState, 'targetReason' | 'targetMessage'>): Reason {
  const code = isStop(targetReason) ? targetReason : 'USER_REQUEST'
  const written = code === 'OPERATOR_REQUEST' || code === 'ACCOUNT_DISABLED' ? targetMessage : null
  return { code, message: written ?? stopMessages[code] }
}

function isStop(reason: string | null): reason is keyof typeof stopMessages {
  return reason !== null && Object.hasOwn(stopMessages, reason)
}

export const outbid: Reason = {
  code: 'OUTBID',
  message: 'A higher bid or an on-demand rental took the GPUs. The instance resumes when they are free.',
}
/** The market has granted the GPUs or will grant them. A container that still runs on them must end first. */
export const waitingForGpus: Reason = {
  code: 'WAITING_FOR_GPUS',
  message: 'The GPUs are in use. The instance starts when they are free.',
}
export const pulling: Reason = { code: 'PULLING', message: 'The machine is pulling the image.' }
export const starting: Reason = { code: 'STARTING', message: 'The container is starting.' }
export const restarting: Reason = {
  code: 'STARTING',
  message: 'The instance starts again as soon as its container is down.',
}
export const rebooting: Reason = { code: 'REBOOTING', message: 'The renter asked to reboot the instance.' }
export const recycling: Reason = { code: 'RECYCLING', message: 'The renter asked to recreate the container.' }
export const started: Reason = { code: 'STARTED', message: 'The container is up.' }
export const machineError: Reason = {
  code: 'MACHINE_ERROR',
  message: 'The machine could not carry out the last step. Berth tries again.',
}
/** Has the code of a refused step, so that the start is retried and times out like any other. */
export const gpusTaken: Reason = {
  code: 'MACHINE_ERROR',
  message: 'Another container still runs on the GPUs. Berth tries again.',
}
export const hostUnreachable: Reason = {
  code: 'HOST_UNREACHABLE',
  message: 'The machine does not answer. Berth tries again.',
}
export const containerLost: Reason = {
  code: 'CONTAINER_LOST',
  message: 'The machine has lost the container.',
}

export function hostOffline(ms: number): Reason {
  return { code: 'HOST_OFFLINE', message: `The machine has not answered for ${printMinutes(ms)}.` }
}

export function startTimeout(ms: number): Reason {
  return { code: 'START_TIMEOUT', message: `The instance did not come up within ${printMinutes(ms)}.` }
}

export function exited(exitCode: number): Reason {
  return { code: 'EXITED', message: `The container exited with code ${exitCode}.`, exitCode }
}

function printMinutes(ms: number): string {
  const count = Math.round(ms / 60_000)
  return count === 1 ? '1 minute' : `${count} minutes`
}
