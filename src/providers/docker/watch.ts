import { MachineUnreachable } from '../provider.ts'
import { brokenStreamError } from './engine/error.ts'
import { readJsonLines } from './engine/lines.ts'
import type { Machine } from './machine.ts'
import { idsIn, labelFilter, labels } from './names.ts'

type EngineEvent = { Actor?: { Attributes?: Record<string, string> } }

/** A container gets its final name when it is prepared. */
const events = ['start', 'die', 'destroy', 'rename']

export async function watchContainers(
  { client, engine }: Machine,
  onChange: (instanceId: bigint) => void,
  signal: AbortSignal,
): Promise<void> {
  const filters = { ...labelFilter(engine), type: ['container'], event: events }
  try {
    const stream = await client.stream('GET', '/events', { query: { filters }, signal })
    for await (const { Actor } of readJsonLines<EngineEvent>(stream)) {
      for (const id of idsIn(labels.instance, [{ Labels: Actor?.Attributes ?? null }])) onChange(id)
    }
  } catch (error) {
    if (signal.aborted) return
    throw brokenStreamError(error, signal)
  }
  throw new MachineUnreachable('The engine of the machine ended its events.')
}
