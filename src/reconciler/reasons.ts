// Why an instance is as it is, in words for its renter.

import type { Reason } from '../domain/instances.ts'

const asked: Reason = { code: 'USER_REQUEST', message: 'It was asked to stop.' }
/** What stops an instance that nobody asked to. */
const unasked: Reason[] = [
  { code: 'NO_CREDIT', message: 'The credit of its account ended.' },
  { code: 'SCHEDULE', message: 'It was arranged to stop at this instant.' },
  { code: 'COST_LIMIT', message: 'It had cost as much as was arranged.' },
]

/** Why an instance is to be stopped. */
export function stoppedFor(targetReason: string | null): Reason {
  return unasked.find(({ code }) => code === targetReason) ?? asked
}

export const outbid: Reason = {
  code: 'OUTBID',
  message: 'A higher bid or a rental on demand has its GPUs; it resumes when they are free.',
}
/** The market gave it its GPUs, or will; a container that still runs on them must go first. */
export const waiting: Reason = {
  code: 'WAITING_FOR_GPUS',
  message: 'Its GPUs are in use; it starts when they are free.',
}
export const pulling: Reason = { code: 'PULLING', message: 'Its image is being pulled.' }
export const starting: Reason = { code: 'STARTING', message: 'Its container is starting.' }
export const restarting: Reason = { code: 'STARTING', message: 'It starts again as soon as its container is down.' }
export const rebooting: Reason = { code: 'REBOOTING', message: 'It was asked to reboot.' }
export const recycling: Reason = { code: 'RECYCLING', message: 'Its container is made anew, as it was asked to be.' }
export const started: Reason = { code: 'STARTED', message: 'Its container is up.' }
export const troubled: Reason = {
  code: 'MACHINE_ERROR',
  message: 'Its machine could not do what is wished; it is tried again.',
}
export const unreachable: Reason = {
  code: 'HOST_UNREACHABLE',
  message: 'Its machine does not answer at the moment; it is tried again.',
}
export const lost: Reason = { code: 'CONTAINER_LOST', message: 'Its machine does not have its container any more.' }

export function offline(ms: number): Reason {
  return { code: 'HOST_OFFLINE', message: `Its machine has not answered for ${minutes(ms)}.` }
}

export function neverUp(ms: number): Reason {
  return { code: 'START_TIMEOUT', message: `It did not come up within ${minutes(ms)}.` }
}

export function exited(exitCode: number): Reason {
  return { code: 'EXITED', message: `Its container ended by itself, with exit code ${exitCode}.`, exitCode }
}

function minutes(ms: number): string {
  const count = Math.round(ms / 60_000)
  return count === 1 ? '1 minute' : `${count} minutes`
}
