import type { EventType } from '../../domain/events/events.ts'
import { builder } from '../builder.ts'

const descriptions: Record<EventType, string> = {
  INSTANCE_CREATED: 'An instance was rented.',
  INSTANCE_TARGET_CHANGED: 'An instance was asked to run, or to stop.',
  INSTANCE_LABEL_CHANGED: 'An instance was given another label.',
  INSTANCE_GRANTED: 'The market gave an instance its GPUs.',
  INSTANCE_OUTBID: 'The market took the GPUs of an instance, which waits for them from then on.',
  INSTANCE_STATUS_CHANGED: 'The status of an instance changed.',
  INSTANCE_ENDING: 'The end of an instance is near: its machine leaves the market.',
  INSTANCE_DESTROYED: 'An instance was destroyed, and costs nothing from then on.',
  INSTANCE_REMOVED: 'What was left of a destroyed instance on its machine is gone.',
  INSTANCE_BID_CHANGED: 'An instance bids more or less.',
  INSTANCE_LAUNCH_CHANGED: 'What the container of an instance is made of the next time was changed.',
  INSTANCE_REBOOTED: 'An instance was asked to reboot.',
  INSTANCE_RECYCLED: 'The container of an instance is to be made anew.',
  INSTANCE_POLICY_CHANGED: 'What is arranged for an instance was changed, or its instant to stop at has come.',
  INSTANCE_SSH_KEYS_CHANGED: 'An SSH key was added to an instance, or taken from it.',
  TEMPLATE_SAVED: 'A template was made or changed.',
  TEMPLATE_DELETED: 'A template was deleted.',
  SSH_KEY_REGISTERED: 'An SSH key was registered.',
  SSH_KEY_REPLACED: 'An SSH key was replaced by another one, which has its id.',
  SSH_KEY_DELETED: 'An SSH key was deleted.',
  SECRET_VARIABLE_SET: 'A secret variable of the account was set.',
  SECRET_VARIABLE_DELETED: 'A secret variable of the account was deleted.',
  API_KEY_CREATED: 'An API key was made.',
  API_KEY_RESET: 'An API key was given a new secret.',
  API_KEY_REVOKED: 'An API key was revoked.',
  VOLUME_CREATED: 'A volume was made.',
  VOLUME_DELETED: 'A volume was deleted.',
  ACCOUNT_SPEND_LIMIT: 'A spend limit of the account or of one of its keys was reached.',
  SPEND_LIMIT_CHANGED: 'A spend limit was set, changed or removed.',
  CREDIT_GRANTED: 'The operator added credit, or took some.',
  ACCOUNT_QUOTAS_CHANGED: 'The operator changed how much the account may have.',
  ACCOUNT_LOW_CREDIT:
    'Credit ends in 24 hours or less, or in one, if everything goes on as it does. It is told again only after there was more.',
  ACCOUNT_CREDIT_ENDED: 'Credit has ended, and what ran was stopped.',
  ACCOUNT_DEBT: 'Credit was below zero for long: this tells what will be destroyed, and when.',
  WEBHOOK_CREATED: 'A webhook was made.',
  WEBHOOK_SECRET_ROTATED: 'A webhook was given a new secret.',
  WEBHOOK_TESTED: 'A webhook was tested.',
  WEBHOOK_DELETED: 'A webhook was deleted.',
}

const values = Object.fromEntries(
  Object.entries(descriptions).map(([value, description]) => [value, { value, description }]),
) as { [Type in EventType]: { value: Type; description: string } }

export const EventTypeEnum = builder.enumType('EventType', {
  description: 'What happened. There will be more types.',
  values,
})
