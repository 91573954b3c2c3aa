// Names and labels of what the driver makes. Every list asks for the mark, because an engine may run other containers.

import { createHash } from 'node:crypto'
import type { ContainerRef, ContainerSpec } from '../../domain/instances/containers.ts'
import type { Engine } from '../../domain/machines/engines.ts'

type Marked = Pick<Engine, 'mark'>

/**
 * The renter is root in the container and can change each file there, but not its name. So the name tells what the
 * container's end means: nothing, that its files are not complete, that a stop was requested, or that it was refused.
 */
export const phases = ['complete', 'making', 'stopping', 'refused'] as const
export type Phase = (typeof phases)[number]

export function containerName({ mark }: Marked, instanceId: bigint, phase: Phase): string {
  return `berth-${mark}-${instanceId}${phase === 'complete' ? '' : `-${phase}`}`
}

export function phaseOf(name: string): Phase {
  return phases.find(phase => name.endsWith(`-${phase}`)) ?? 'complete'
}

export function volumeName({ mark }: Marked, volumeId: bigint): string {
  return `berth-${mark}-volume-${volumeId}`
}

export function networkName({ mark }: Marked, accountId: number | string): string {
  return `berth-${mark}-account-${accountId}`
}

/** A rule of the host's firewall names the bridges of all accounts by their beginning. Linux allows 15 characters. */
export function bridgeName(network: string): string {
  return `berth-${createHash('sha256').update(network).digest('hex').slice(0, 9)}`
}

export const labels = {
  mark: 'berth.mark',
  instance: 'berth.instance',
  account: 'berth.account',
  gpus: 'berth.gpus',
  volume: 'berth.volume',
}

export function containerLabels({ mark }: Marked, { instanceId, accountId, gpus }: ContainerSpec) {
  return {
    [labels.mark]: mark,
    [labels.instance]: String(instanceId),
    [labels.account]: String(accountId),
    [labels.gpus]: gpus.join(),
  }
}

/** The labels that each container of an instance has. */
export function labelsOf({ instanceId, accountId }: Omit<ContainerRef, 'machineId'>): Record<string, string | bigint> {
  return { [labels.instance]: instanceId, ...(accountId !== undefined && { [labels.account]: String(accountId) }) }
}

/** Selects what has the mark and these labels. */
export function labelFilter({ mark }: Marked, others: Record<string, string | bigint> = {}) {
  const pairs = Object.entries({ [labels.mark]: mark, ...others })
  return { label: pairs.map(([name, value]) => `${name}=${value}`) }
}

/** The ids in one label of many things. What has no such label is none of the fleet's. */
export function idsIn(label: string, found: { Labels?: Record<string, string> | null }[]): bigint[] {
  return found.flatMap(({ Labels }) => {
    const id = Labels?.[label] ?? ''
    return /^\d+$/.test(id) ? [BigInt(id)] : []
  })
}
