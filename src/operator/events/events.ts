import type { Event } from '../../domain/events/events.ts'
import { payloadOf } from '../../domain/events/payload.ts'
import { findAccountId, parseOptionalAccount } from '../accounts/name.ts'
import { defineCommand, type OperatorCommand } from '../command.ts'
import { parseIdOption, parseWholeOption } from '../options.ts'

export const eventCommands = {
  'event list': defineCommand(
    {
      summary: 'Lists the newest events of an account, an instance, or all instances of a machine, oldest first.',
      columns: ['createdAt', 'kind', 'subjectId', 'actor', 'reason', 'note'],
      options: {
        account: { meaning: 'only events of the account with this email address or id' },
        instance: { meaning: 'only events of the instance with this id' },
        machine: { meaning: 'only events of instances that are or were on the machine with this id' },
        last: { meaning: 'number of events, at most 10000 (default: 100)' },
      },
    },
    ({ account, instance, machine, last = '100' }) => {
      const owner = parseOptionalAccount(account)
      const filter = {
        instanceId: instance === undefined ? undefined : parseIdOption('Instance', 'instance', instance),
        machineId: machine === undefined ? undefined : parseIdOption('Machine', 'machine', machine),
      }
      const count = parseWholeOption('last', last, 10_000)
      if ([account, instance, machine].every(one => one === undefined))
        throw new Error('Give at least one of --account, --instance, --machine.')
      return async function* ({ accounts, events }) {
        const accountId = await findAccountId({ accounts }, owner)
        for (const event of await events.newest({ ...filter, accountId }, count)) yield presentEvent(event)
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

/** With the names, ids and units that webhooks receive. */
function presentEvent(event: Event) {
  const { actor, reason = null, note = null, before = null, after = null, ...payload } = payloadOf(event)
  const { id, kind, accountId, subjectId } = payload
  const by = actor.apiKeyId ?? actor.kind
  return { id, createdAt: event.createdAt, kind, accountId, subjectId, actor: by, reason, note, before, after }
}
