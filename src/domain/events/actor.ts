// Who acted: an event names the key, the operator, or Berth itself.

export type EventActor = { kind: 'api_key'; apiKeyId: number } | { kind: 'operator' } | { kind: 'system' }
export type ActorKind = EventActor['kind']

/** An operator's command. */
export const operatorActor: EventActor = { kind: 'operator' }

/** Berth itself: the reconciler, the market, policies and billing. */
export const systemActor: EventActor = { kind: 'system' }

export function apiKeyActor({ apiKeyId }: { apiKeyId: number }): EventActor {
  return { kind: 'api_key', apiKeyId }
}
