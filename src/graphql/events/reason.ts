import type { ReasonCode as Code, Reason as ReasonShape } from '../../domain/reasons.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'

const ReasonCode = enumOf<Code>(
  'ReasonCode',
  'Why an instance has its status, why an event happened, or why an action is not available. New values may be added.',
  {
    USER_REQUEST: 'The renter asked for it with an API key.',
    OPERATOR_REQUEST: 'An operator of the service asked for it. The message says why.',
    ACCOUNT_DISABLED: 'The operator disabled the account. The message says why.',
    WAITING_FOR_GPUS: 'The GPUs are in use. The instance starts when they are free.',
    OUTBID: 'A higher bid or an on-demand rental took the GPUs.',
    PULLING: 'The machine is pulling the image.',
    STARTING: 'The container is starting.',
    STARTED: 'The container is up.',
    REBOOTING: 'The renter asked to reboot the instance.',
    RECYCLING: 'The renter asked to recreate the container.',
    MACHINE_ERROR: 'The machine could not carry out the last step. The gateway tries again.',
    HOST_UNREACHABLE: 'The machine does not answer. The gateway tries again.',
    IMAGE_PULL_FAILED: 'The machine could not pull the image.',
    START_FAILED: 'The container could not start.',
    START_TIMEOUT: 'The instance did not come up in time.',
    EXITED: 'The container exited by itself: see `exitCode`.',
    HOST_OFFLINE: 'The machine has not answered for too long.',
    CONTAINER_LOST: 'The machine has lost the container.',
    RENTAL_ENDED: 'The machine left the market, which ends its rentals.',
    NO_CREDIT: 'The account ran out of credit.',
    SPEND_LIMIT: 'A spend limit was reached.',
    DEBT: 'The account stayed in debt past the grace period.',
    SCHEDULE: 'The time set in the policy of the instance was reached.',
    COST_LIMIT: 'The cost limit in the policy of the instance was reached.',
    IDLE: 'The GPUs were idle for as long as the policy of the instance allows.',
    REPLACED: 'The instance did not run in time, so another one was rented in its place: see `Instance.replacedBy`.',
    NOT_REPLACED: 'The instance did not run in time, and no other could be rented in its place.',
    GPUS_FREE: 'The GPUs became free for the instance.',
    ON_DEMAND: 'An on-demand rental took the GPUs.',
    CONTAINER_GONE: 'The container is gone from the machine, with its disk and ports.',
    DESTROYED: 'The instance is destroyed.',
    TERMINAL: 'The instance is `EXITED`, `OFFLINE` or `UNKNOWN`, so it never runs again.',
    ALREADY_RUNNING: 'The instance is already running or starting.',
    ALREADY_STOPPED: 'The instance is already stopped or stopping.',
    ALREADY_RESTARTING: 'The instance is already restarting.',
    NOT_RUNNING: 'The action needs a running instance.',
    STOP_REQUESTED: 'The instance is about to stop.',
    NO_CONTAINER: 'The instance has no container yet.',
    FIXED_PRICE: 'The instance is rented on demand at a fixed price, so it has no bid.',
  },
)

export const Reason = builder.objectRef<ReasonShape>('Reason').implement({
  description: 'Why something happened or is not possible: a code for programs, and a message for people.',
  fields: t => ({
    code: t.expose('code', { type: ReasonCode, description: 'The reason, for programs.' }),
    message: t.exposeString('message', { description: 'Reason in plain English, for people.' }),
    exitCode: t.int({
      nullable: true,
      description: 'Exit code of the container. Null unless the container exited by itself.',
      resolve: ({ exitCode }) => exitCode ?? null,
    }),
  }),
})
