import type { Machine } from './machines.ts'

export const machineStates = ['listed', 'suspended', 'draining', 'unlisted'] as const
/** What operators see of a machine's place in the market. Only a listed one takes new rentals. */
export type MachineState = (typeof machineStates)[number]

export function machineStateOf({
  unlistedAt,
  drainedAt,
  unconfirmedAt,
}: Pick<Machine, 'unlistedAt' | 'drainedAt' | 'unconfirmedAt'>): MachineState {
  if (unlistedAt) return 'unlisted'
  if (drainedAt) return 'draining'
  return unconfirmedAt ? 'suspended' : 'listed'
}
