// Why something happened or cannot be done: a code for programs, and a message for people.

export type Reason = { code: ReasonCode; message: string; exitCode?: number }

/** Every reason, and its message where nothing more precise is known. */
export const reasonMessages = {
  // Why an instance has its status. Some of these are also reasons of events.
  USER_REQUEST: 'It was requested with an API key.',
  WAITING_FOR_GPUS: 'The GPUs are in use.',
  OUTBID: 'A higher bid took the GPUs.',
  PULLING: 'The machine is pulling the image.',
  STARTING: 'The container is starting.',
  STARTED: 'The container is up.',
  REBOOTING: 'The renter asked to reboot the instance.',
  RECYCLING: 'The renter asked to recreate the container.',
  MACHINE_ERROR: 'The machine could not carry out the last step.',
  HOST_UNREACHABLE: 'The machine does not answer.',
  IMAGE_PULL_FAILED: 'The machine could not pull the image.',
  START_FAILED: 'The container could not start.',
  START_TIMEOUT: 'The instance did not come up in time.',
  EXITED: 'The container exited.',
  HOST_OFFLINE: 'The machine has not answered for too long.',
  CONTAINER_LOST: 'The machine has lost the container.',
  RENTAL_ENDED: 'The machine left the market.',
  OPERATOR_REQUEST: 'An operator of the service asked for it.',
  ACCOUNT_DISABLED: 'The operator disabled the account.',
  NO_CREDIT: 'The account ran out of credit.',
  SPEND_LIMIT: 'A spend limit was reached.',
  DEBT: 'The account stayed in debt past the grace period.',
  SCHEDULE: 'The time set in the policy was reached.',
  COST_LIMIT: 'The cost limit in the policy was reached.',
  IDLE: 'The GPUs were idle for as long as the policy allows.',
  REPLACED: 'The instance did not run in time, so another one was rented in its place.',
  NOT_REPLACED: 'The instance did not run in time, and no other could be rented in its place.',
  // Why an event happened.
  GPUS_FREE: 'The GPUs are free for this instance.',
  ON_DEMAND: 'An on-demand rental took the GPUs.',
  CONTAINER_GONE: 'The container is gone from the machine.',
  // Why an action is not available.
  DESTROYED: 'The instance is destroyed.',
  TERMINAL: 'The instance never runs again.',
  ALREADY_RUNNING: 'The instance is already running or starting.',
  ALREADY_STOPPED: 'The instance is already stopped or stopping.',
  ALREADY_RESTARTING: 'The instance is already restarting.',
  NOT_RUNNING: 'The instance is not running.',
  STOP_REQUESTED: 'The instance is about to stop.',
  NO_CONTAINER: 'The instance has no container yet.',
  FIXED_PRICE: 'The instance is rented at a fixed price.',
} as const satisfies Record<string, string>
export type ReasonCode = keyof typeof reasonMessages

/**
 * The reason with a stored code. Null without one, and for a code that only gateways of a newer version know. The stored
 * message says more than the one of the code.
 */
export function reasonOf(code: string | null, message?: unknown, exitCode?: unknown): Reason | null {
  if (code === null || !Object.hasOwn(reasonMessages, code)) return null
  const known = code as ReasonCode
  return {
    code: known,
    message: typeof message === 'string' ? message : reasonMessages[known],
    ...(typeof exitCode === 'number' && { exitCode }),
  }
}
