import type { Event } from '../../domain/events/events.ts'
import { printFacts } from '../../domain/events/facts.ts'
import { builder } from '../builder.ts'

type Change = { field: string; before: string | null; after: string | null }

export const EventChange = builder.objectRef<Change>('EventChange').implement({
  description: 'What an event changed of the thing that it is about.',
  fields: t => ({
    field: t.exposeString('field', {
      description:
        'What it is called in this schema where there is such a field: `label`, `targetState`, `bidPerHour`.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'What it was, as it is written in this schema. Null for nothing, and for what is new.',
    }),
    after: t.exposeString('after', {
      nullable: true,
      description: 'What it became, written in the same way. Null for nothing, and for what is gone.',
    }),
  }),
})

/** What is no change, and is said elsewhere. */
const hiddenFields = ['message']

export function changesOf({ type, before, after }: Event): Change[] {
  const [was, is] = [before, after].map(facts => printFacts(type, facts ?? {})) as [Facts, Facts]
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
