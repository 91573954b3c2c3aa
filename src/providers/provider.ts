import type { Authorisation, ContainerSpec, Truth } from '../domain/containers.ts'

/**
 * Runs containers somewhere. Every call may be repeated, with the same end; what it asks for has begun when it returns,
 * and `observe` says how far it has come. A call that cannot reach the machine throws.
 */
export type Provider = {
  observe(instanceId: bigint, signal: AbortSignal): Promise<Truth>
  /** Makes the container, and pulls its image. What is there already is left as it is. */
  ensure(spec: ContainerSpec, signal: AbortSignal): Promise<void>
  /** Lets these public keys and no others log in to the container, whether it runs or not. */
  authorise(keys: Authorisation, signal: AbortSignal): Promise<void>
  start(instanceId: bigint, signal: AbortSignal): Promise<void>
  stop(instanceId: bigint, signal: AbortSignal): Promise<void>
  /** Removes the container and its disk. */
  remove(instanceId: bigint, signal: AbortSignal): Promise<void>
}
