import type { Event, EventKind } from './events.ts'

/** What the sentence depends on. */
type EventText = Pick<Event, 'kind' | 'before' | 'after' | 'reason'>

/** Describes an event in a sentence or two, for people. */
export function messageOf({ kind, before, after, reason }: EventText): string {
  const sentence = sentences[kind]
  return `${typeof sentence === 'string' ? sentence : sentence({ ...before, ...after }, before ?? {})}${reasonSentence(reason)}`
}

type Facts = Record<string, unknown>

const namedSentence = (noun: string, change: string) => (facts: Facts) =>
  `${noun}${facts['name'] ? ` "${facts['name']}"` : ''} ${change}.`

const parseNanos = (fact: unknown) => BigInt(typeof fact === 'string' ? fact : 0)

const sentences: Record<EventKind, string | ((facts: Facts, before: Facts) => string)> = {
  INSTANCE_CREATED: ({ replaces }) =>
    replaces ? 'Instance rented in place of one that did not run in time.' : 'Instance rented.',
  INSTANCE_TARGET_CHANGED: ({ targetState }) =>
    targetState === 'running' ? 'Instance start requested.' : 'Instance stop requested.',
  INSTANCE_LABEL_CHANGED: ({ label }) =>
    label === null ? 'Instance label removed.' : `Instance label changed to "${label}".`,
  INSTANCE_GRANTED: 'Instance received its GPUs.',
  INSTANCE_OUTBID: 'Instance lost its GPUs.',
  INSTANCE_STATUS_CHANGED: ({ status, message }, before) =>
    // When the status stays the same, only its reason is new.
    [
      ...(message && status === before['status'] ? [] : [`Instance is now ${status}.`]),
      ...(message ? [message] : []),
    ].join(' '),
  INSTANCE_ENDING: 'Rental ends soon: the machine leaves the market.',
  INSTANCE_DESTROYED: 'Instance destroyed.',
  INSTANCE_REPLACED: 'Instance did not run in time: another one was rented in its place.',
  INSTANCE_REMOVED: 'Instance removed from its machine.',
  INSTANCE_BID_CHANGED: 'Instance bid changed.',
  INSTANCE_LAUNCH_CHANGED: 'Instance launch settings changed. They apply when its container is next created.',
  INSTANCE_REBOOTED: 'Instance reboot requested.',
  INSTANCE_RECYCLED: 'Instance recycle requested: its container will be created again.',
  INSTANCE_POLICY_CHANGED: 'Instance policy changed.',
  INSTANCE_SSH_KEYS_CHANGED: 'Instance SSH keys changed.',
  TEMPLATE_CREATED: namedSentence('Template', 'created'),
  TEMPLATE_UPDATED: namedSentence('Template', 'changed'),
  TEMPLATE_DELETED: namedSentence('Template', 'deleted'),
  SSH_KEY_CREATED: namedSentence('SSH key', 'registered'),
  SSH_KEY_UPDATED: (facts, before) => {
    const isRenamed = facts['fingerprint'] === before['fingerprint']
    return namedSentence('SSH key', isRenamed ? 'renamed' : 'replaced')(facts)
  },
  SSH_KEY_DELETED: namedSentence('SSH key', 'deleted'),
  SECRET_VARIABLE_UPDATED: namedSentence('Secret variable', 'set'),
  SECRET_VARIABLE_DELETED: namedSentence('Secret variable', 'deleted'),
  API_KEY_CREATED: namedSentence('API key', 'created'),
  API_KEY_UPDATED: namedSentence('API key', 'changed'),
  API_KEY_SECRET_ROTATED: namedSentence('API key', 'given a new secret'),
  API_KEY_DELETED: namedSentence('API key', 'revoked'),
  VOLUME_CREATED: namedSentence('Volume', 'created'),
  VOLUME_UPDATED: namedSentence('Volume', 'changed'),
  VOLUME_DELETED: namedSentence('Volume', 'deleted'),
  ACCOUNT_SPEND_LIMIT: ({ action }) =>
    action === 'stop_running'
      ? 'Spend limit reached: the instances that it counts are stopped.'
      : 'Spend limit reached.',
  SPEND_LIMIT_CREATED: 'Spend limit created.',
  SPEND_LIMIT_UPDATED: 'Spend limit changed.',
  SPEND_LIMIT_DELETED: 'Spend limit deleted.',
  CREDIT_GRANTED: ({ creditNanos }, before) =>
    parseNanos(creditNanos) < parseNanos(before['creditNanos']) ? 'Credit deducted.' : 'Credit granted.',
  ACCOUNT_QUOTAS_CHANGED: "The operator changed the account's quotas.",
  ACCOUNT_DISABLED: ({ keepsInstances }) =>
    keepsInstances
      ? 'The operator disabled the account: its API keys are refused.'
      : 'The operator disabled the account: its API keys are refused, and its instances stop.',
  ACCOUNT_ENABLED: 'The operator enabled the account again.',
  ACCOUNT_LOW_CREDIT: ({ endsAt }) => `Credit runs out at ${endsAt} at the current rate.`,
  ACCOUNT_CREDIT_ENDED: 'Credit ran out: running instances were stopped.',
  ACCOUNT_DEBT: ({ destroysAt }) =>
    `The account is in debt: its instances and volumes are destroyed from ${destroysAt} on. Add credit before then.`,
  WEBHOOK_CREATED: 'Webhook created.',
  WEBHOOK_UPDATED: 'Webhook changed.',
  WEBHOOK_SECRET_ROTATED: 'Webhook given a new secret.',
  WEBHOOK_TESTED: 'Webhook tested.',
  WEBHOOK_DELETED: 'Webhook deleted.',
}

/** Sentences for reasons that add to the event itself. A change of status has its message instead. */
const reasonSentences: Record<string, string> = {
  OUTBID: 'A higher bid took them.',
  ON_DEMAND: 'An on-demand rental took them.',
  SPEND_LIMIT: 'A spend limit was reached.',
  RENTAL_ENDED: 'Its machine left the market.',
  OPERATOR_REQUEST: 'An operator of the service asked for it.',
  ACCOUNT_DISABLED: 'The operator disabled the account.',
  NO_CREDIT: 'The account ran out of credit.',
  DEBT: 'The account stayed in debt past the grace period.',
  SCHEDULE: 'The time set in its policy was reached.',
  COST_LIMIT: 'The cost limit in its policy was reached.',
  IDLE: 'Its GPUs were idle for as long as its policy allows.',
  NOT_REPLACED: 'It did not run in time, and no other could be rented in its place.',
}

function reasonSentence(reason: string | null): string {
  // A gateway of a newer version may have written a reason that this one does not know.
  return reason !== null && Object.hasOwn(reasonSentences, reason) ? ` ${reasonSentences[reason]}` : ''
}
