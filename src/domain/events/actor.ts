// Who acted: an event names the key, the operator, or Berth itself.

export type EventActor = { kind: 'api_key'; apiKeyId: number } | { kind: 'operator' } | { kind: 'system' }
export type ActorKind = EventActor['kind']
/** The columns that an event stores of its actor. */
export type StoredActor = { actorKind: ActorKind; apiKeyId: number | null }

export function actorOf({ actorKind, apiKeyId }: StoredActor): EventActor {
  // Safe: a constraint holds that exactly the events of API keys have a key.
  return (actorKind === 'api_key' ? { kind: actorKind, apiKeyId } : { kind: actorKind }) as EventActor
}

/** An operator's command. */
export const operatorActor: EventActor = { kind: 'operator' }

/** Berth itself: the reconciler, the market, policies and billing. */
export const systemActor: EventActor = { kind: 'system' }

export function apiKeyActor({ apiKeyId }: { apiKeyId: number }): EventActor {
  return { kind: 'api_key', apiKeyId }
}
