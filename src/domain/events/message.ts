import type { Event, EventType } from './events.ts'

/** An event in a sentence, for people. */
export function messageOf({ type, before, after, reason }: Event): string {
  const sentence = sentences[type]
  return `${typeof sentence === 'string' ? sentence : sentence({ ...before, ...after }, before ?? {})}${reasonSentence(reason)}`
}

type Facts = Record<string, unknown>

const namedSentence = (what: string, became: string) => (facts: Facts) =>
  `${what}${facts['name'] ? ` "${facts['name']}"` : ''} was ${became}.`

const parseNanos = (fact: unknown) => BigInt(typeof fact === 'string' ? fact : 0)

const sentences: Record<EventType, string | ((facts: Facts, before: Facts) => string)> = {
  INSTANCE_CREATED: 'It was rented.',
  INSTANCE_TARGET_CHANGED: ({ targetState }) => (targetState === 'running' ? 'It is to run.' : 'It is to stop.'),
  INSTANCE_LABEL_CHANGED: ({ label }) => (label === null ? 'Its label was removed.' : `It is called "${label}" now.`),
  INSTANCE_GRANTED: 'It got its GPUs.',
  INSTANCE_OUTBID: 'It lost its GPUs.',
  INSTANCE_STATUS_CHANGED: ({ status, message }, before) =>
    // Where the status stays, the reason is what is new.
    [...(message && status === before['status'] ? [] : [`It is ${status} now.`]), ...(message ? [message] : [])].join(
      ' ',
    ),
  INSTANCE_ENDING: 'Its machine leaves the market soon.',
  INSTANCE_DESTROYED: 'It was destroyed.',
  INSTANCE_REMOVED: 'Nothing of it is left on its machine.',
  INSTANCE_BID_CHANGED: 'Its bid was changed.',
  INSTANCE_LAUNCH_CHANGED: 'What it is made of the next time was changed.',
  INSTANCE_REBOOTED: 'It was asked to reboot.',
  INSTANCE_RECYCLED: 'Its container is to be made anew.',
  INSTANCE_POLICY_CHANGED: 'What is arranged for it was changed.',
  INSTANCE_SSH_KEYS_CHANGED: 'The SSH keys that log in to it were changed.',
  TEMPLATE_SAVED: namedSentence('The template', 'saved'),
  TEMPLATE_DELETED: namedSentence('The template', 'deleted'),
  SSH_KEY_REGISTERED: namedSentence('The SSH key', 'registered'),
  SSH_KEY_REPLACED: namedSentence('The SSH key', 'replaced'),
  SSH_KEY_DELETED: namedSentence('The SSH key', 'deleted'),
  SECRET_VARIABLE_SET: namedSentence('The secret variable', 'set'),
  SECRET_VARIABLE_DELETED: namedSentence('The secret variable', 'deleted'),
  API_KEY_CREATED: namedSentence('The API key', 'made'),
  API_KEY_RESET: namedSentence('The API key', 'given a new secret'),
  API_KEY_REVOKED: namedSentence('The API key', 'revoked'),
  VOLUME_CREATED: namedSentence('The volume', 'made'),
  VOLUME_DELETED: namedSentence('The volume', 'deleted'),
  ACCOUNT_SPEND_LIMIT: ({ action }) =>
    action === 'stop_running'
      ? 'A spend limit is reached, and what it counts is stopped.'
      : 'A spend limit is reached.',
  SPEND_LIMIT_CHANGED: (_facts, before) =>
    'amountNanos' in before ? 'A spend limit was changed or removed.' : 'A spend limit was set.',
  CREDIT_GRANTED: ({ creditNanos }, before) =>
    parseNanos(creditNanos) < parseNanos(before['creditNanos']) ? 'Credit was taken.' : 'Credit was granted.',
  ACCOUNT_QUOTAS_CHANGED: 'The operator changed how much the account may have.',
  ACCOUNT_LOW_CREDIT: ({ endsAt }) => `Credit ends at ${endsAt}, if everything goes on as it does.`,
  ACCOUNT_CREDIT_ENDED: 'Credit has ended: what ran was stopped.',
  ACCOUNT_DEBT: ({ destroysAt }) => `Credit is below zero: from ${destroysAt} on instances are destroyed, and volumes.`,
  WEBHOOK_CREATED: 'The webhook was made.',
  WEBHOOK_SECRET_ROTATED: 'The webhook was given a new secret.',
  WEBHOOK_TESTED: 'The webhook was tested.',
  WEBHOOK_DELETED: 'The webhook was deleted.',
}

/** Reasons that say more than the sentence. Of a status its message does. */
const reasonSentences: Record<string, string> = {
  OUTBID: 'Another bids more for them.',
  ON_DEMAND: 'They were rented on demand.',
  SPEND_LIMIT: 'A spend limit is reached.',
  RENTAL_ENDED: 'Its machine left the market.',
  NO_CREDIT: 'The credit of its account ended.',
  DEBT: 'The credit of its account was below zero for too long.',
  SCHEDULE: 'It was arranged so.',
  COST_LIMIT: 'It had cost as much as was arranged.',
}

function reasonSentence(reason: string | null): string {
  const known = reason === null ? undefined : reasonSentences[reason]
  return known ? ` ${known}` : ''
}
