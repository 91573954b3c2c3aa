import type { Event } from '../../domain/events/events.ts'
import { printFacts } from '../../domain/events/facts.ts'
import { builder } from '../builder.ts'

type Change = { field: string; before: string | null; after: string | null }

export const EventChange = builder.objectRef<Change>('EventChange').implement({
  description: 'One field that an event changed.',
  fields: t => ({
    field: t.exposeString('field', {
      description:
        'Name of the changed field, as in this schema where it has such a field: `label`, `targetState`, `bidPerHour`.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'Value before the event, written as in this schema. Null if there was none, or if the item is new.',
    }),
    after: t.exposeString('after', {
      nullable: true,
      description: 'Value after the event, written as in this schema. Null if there is none, or if the item is gone.',
    }),
  }),
})

/** Facts that are not changes. `Event.reason` shows them. */
const hiddenFields = ['message', 'exitCode']

export function changesOf({ kind, before, after }: Pick<Event, 'kind' | 'before' | 'after'>): Change[] {
  const [was, is] = [before, after].map(facts => printFacts(kind, facts ?? {})) as [Facts, Facts]
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter(field => !hiddenFields.includes(field))
    .map(field => ({ field, before: printValue(was[field]), after: printValue(is[field]) }))
    .filter(change => change.before !== change.after)
}

type Facts = Record<string, unknown>

function printValue(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
