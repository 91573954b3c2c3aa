import { type DomainError, type Issue, invalidInput, notFound } from '../errors.ts'
import { mountPathProblem, type NewVolumeMount, type VolumeMount } from '../launch/env.ts'
import { type Message, mention, withIds } from '../messages.ts'
import { diskMbOf } from '../offers/offers.ts'
import { newVolumeIssues, type VolumeFacts, volumeInUse } from './volumes.ts'

export const maxVolumesPerInstance = 8
export const defaultMountPath = '/data'

type LaunchVolumes = { volumes: VolumeMount[]; newVolumes: NewVolumeMount[] }

export function newMountIssues(mount: NewVolumeMount): Issue[] {
  const message = mountPathProblem(mount.mountPath)
  return [...newVolumeIssues(mount), ...(message ? [{ path: 'mountPath', message }] : [])]
}

/** Checks the volumes of an instance, as far as possible without the database. */
export function mountIssues({ volumes, newVolumes }: LaunchVolumes): Issue[] {
  const issues = newVolumes.flatMap((mount, index) =>
    newMountIssues(mount).map(({ path, message }) => ({ path: `newVolumes.${index}.${path}`, message })),
  )
  const addIssue = (message: Message) => void issues.push({ path: 'volumes', message })
  const count = volumes.length + newVolumes.length
  if (count > maxVolumesPerInstance) {
    addIssue(`must be at most ${maxVolumesPerInstance}, not ${count}.`)
    return issues
  }
  const ids = volumes.map(({ volumeId }) => volumeId)
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) {
    addIssue(withIds`must list each volume once, but volume ${mention('Volume', id)} is listed more than once.`)
  }
  // A path that ends in a slash is below another one exactly if it starts with it.
  const paths = [...volumes, ...newVolumes].map(({ mountPath }) => `${pathSegments(mountPath).join('/')}/`).toSorted()
  for (const [index, path] of paths.entries()) {
    const outer = paths.slice(0, index).find(other => path.startsWith(other))
    if (outer === path) addIssue(`must be mounted on different paths, but two are on ${printPath(path)}.`)
    else if (outer)
      addIssue(`must not be mounted below each other, but ${printPath(path)} is below ${printPath(outer)}.`)
  }
  return issues
}

function pathSegments(path: string): string[] {
  return path.split('/').filter(segment => segment !== '')
}

function printPath(path: string): string {
  const text = `/${path.slice(0, -1)}`
  return text.length > 60 ? `${text.slice(0, 60)}…`.toWellFormed() : text
}

/**
 * Why the volumes of a launch cannot be attached on a machine, most severe first. `found` are the renter's volumes
 * among them. A volume of another account counts as missing. Without a machine, locations are not checked.
 */
export function volumeBlockers(
  found: readonly VolumeFacts[],
  { volumes, newVolumes }: LaunchVolumes,
  machineId: number | undefined,
): DomainError[] {
  const missing: DomainError[] = []
  const misplaced: Issue[] = []
  const taken: DomainError[] = []
  for (const { volumeId } of volumes) {
    const volume = found.find(({ id }) => id === volumeId)
    if (!volume) missing.push(notFound('Volume', volumeId))
    else if (machineId !== undefined && volume.machineId !== machineId) {
      const place = withIds`volume ${mention('Volume', volumeId)} is on machine ${mention('Machine', volume.machineId)}`
      const message = withIds`must be on machine ${mention('Machine', machineId)}, the machine of the offer, but ${place}.`
      misplaced.push({ path: 'volumes', message })
    } else if (volume.instanceId !== null) taken.push(volumeInUse(volume.id, volume.instanceId, volume.removing))
  }
  for (const { volumeOfferId } of newVolumes) {
    if (machineId === undefined || volumeOfferId === undefined || volumeOfferId === BigInt(machineId)) continue
    const place = withIds`the volume offer is on machine ${mention('Machine', volumeOfferId)}`
    const message = withIds`must be created on machine ${mention('Machine', machineId)}, the machine of the offer, but ${place}.`
    misplaced.push({ path: 'newVolumes', message })
  }
  return [...missing, ...(misplaced.length > 0 ? [invalidInput(misplaced)] : []), ...taken]
}

/** The disk that new volumes take, besides the instance's own. `mountIssues` has already refused invalid sizes. */
export function newVolumesMb(newVolumes: LaunchVolumes['newVolumes']): number {
  return newVolumes.reduce((sum, { sizeGb }) => sum + (diskMbOf(sizeGb) as number), 0)
}
