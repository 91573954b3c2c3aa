// Why an instance is as it is, in words for its renter.

import type { Reason, TargetReason } from '../domain/instances/instances.ts'

/** What stops an instance. What destroys it is seen of none. */
const stopMessages: Record<Exclude<TargetReason, 'DEBT' | 'RENTAL_ENDED'>, string> = {
  USER_REQUEST: 'It was asked to stop.',
  NO_CREDIT: 'The credit of its account ended.',
  SPEND_LIMIT: 'A limit of what is spent was reached.',
  SCHEDULE: 'It was arranged to stop at this instant.',
  COST_LIMIT: 'It had cost as much as was arranged.',
}

/** Why an instance is to be stopped. One that was rented so was asked to. */
export function stopReasonOf(targetReason: string | null): Reason {
  const code = isStop(targetReason) ? targetReason : 'USER_REQUEST'
  return { code, message: stopMessages[code] }
}

function isStop(reason: string | null): reason is keyof typeof stopMessages {
  return reason !== null && Object.hasOwn(stopMessages, reason)
}

export const outbid: Reason = {
  code: 'OUTBID',
  message: 'A higher bid or a rental on demand has its GPUs; it resumes when they are free.',
}
/** The market gave it its GPUs, or will; a container that still runs on them must go first. */
export const waitingForGpus: Reason = {
  code: 'WAITING_FOR_GPUS',
  message: 'Its GPUs are in use; it starts when they are free.',
}
export const pulling: Reason = { code: 'PULLING', message: 'Its image is being pulled.' }
export const starting: Reason = { code: 'STARTING', message: 'Its container is starting.' }
export const restarting: Reason = { code: 'STARTING', message: 'It starts again as soon as its container is down.' }
export const rebooting: Reason = { code: 'REBOOTING', message: 'It was asked to reboot.' }
export const recycling: Reason = { code: 'RECYCLING', message: 'Its container is made anew, as it was asked to be.' }
export const started: Reason = { code: 'STARTED', message: 'Its container is up.' }
export const machineError: Reason = {
  code: 'MACHINE_ERROR',
  message: 'Its machine could not do what is wished; it is tried again.',
}
export const hostUnreachable: Reason = {
  code: 'HOST_UNREACHABLE',
  message: 'Its machine does not answer at the moment; it is tried again.',
}
export const containerLost: Reason = {
  code: 'CONTAINER_LOST',
  message: 'Its machine does not have its container any more.',
}

export function hostOffline(ms: number): Reason {
  return { code: 'HOST_OFFLINE', message: `Its machine has not answered for ${printMinutes(ms)}.` }
}

export function startTimeout(ms: number): Reason {
  return { code: 'START_TIMEOUT', message: `It did not come up within ${printMinutes(ms)}.` }
}

export function exited(exitCode: number): Reason {
  return { code: 'EXITED', message: `Its container ended by itself, with exit code ${exitCode}.`, exitCode }
}

function printMinutes(ms: number): string {
  const count = Math.round(ms / 60_000)
  return count === 1 ? '1 minute' : `${count} minutes`
}
