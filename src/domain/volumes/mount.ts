import { type DomainError, type Issue, invalidInput, notFound } from '../errors.ts'
import { mountPathProblem, type NewVolumeMount, type VolumeMount } from '../launch/env.ts'
import { diskMbOf } from '../offers/offers.ts'
import { newVolumeIssues, volumeInUse } from './volumes.ts'

export const maxVolumesPerInstance = 8
export const defaultMountPath = '/data'

type LaunchVolumes = { volumes: VolumeMount[]; newVolumes: NewVolumeMount[] }

/** What is wrong with a volume that is to be made and mounted. */
export function newMountIssues(mount: NewVolumeMount): Issue[] {
  const message = mountPathProblem(mount.mountPath)
  return [...newVolumeIssues(mount), ...(message ? [{ path: 'mountPath', message }] : [])]
}

/** Everything that can be said of an instance's volumes before they are looked up. */
export function mountIssues({ volumes, newVolumes }: LaunchVolumes): Issue[] {
  const issues = newVolumes.flatMap((mount, index) =>
    newMountIssues(mount).map(({ path, message }) => ({ path: `newVolumes.${index}.${path}`, message })),
  )
  const complain = (message: string) => void issues.push({ path: 'volumes', message })
  const count = volumes.length + newVolumes.length
  if (count > maxVolumesPerInstance) {
    complain(`must be at most ${maxVolumesPerInstance}, not ${count}.`)
    return issues
  }
  const ids = volumes.map(({ volumeId }) => volumeId)
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) {
    complain(`must have each volume once, and volume ${id} is there more often.`)
  }
  // A path with a slash at its end lies below another exactly when it begins with that one.
  const paths = [...volumes, ...newVolumes].map(({ mountPath }) => `${pathSegments(mountPath).join('/')}/`).toSorted()
  for (const [index, path] of paths.entries()) {
    const outer = paths.slice(0, index).find(other => path.startsWith(other))
    if (outer === path) complain(`must be mounted on different paths, and two are on ${printPath(path)}.`)
    else if (outer)
      complain(`must not be mounted below each other, as ${printPath(path)} is below ${printPath(outer)}.`)
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

/** A volume of the renter's that is not deleted, as the renting transaction finds it. */
export type VolumeFacts = {
  id: bigint
  machineId: number
  /** The instance that has it, also while its container is being removed. */
  instanceId: bigint | null
  removing: boolean
}

/**
 * Why the volumes of a launch cannot be in an instance on a machine, the gravest first. `found` are those of them that
 * are the renter's: of another's nothing is said but that it is not there. Without a machine nothing is said of places.
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
      const message = `must be on machine ${machineId}, where the offer is, and volume ${volumeId} is on machine ${volume.machineId}.`
      misplaced.push({ path: 'volumes', message })
    } else if (volume.instanceId !== null) taken.push(volumeInUse(volume.id, volume.instanceId, volume.removing))
  }
  for (const { volumeOfferId } of newVolumes) {
    if (machineId === undefined || volumeOfferId === undefined || volumeOfferId === BigInt(machineId)) continue
    const message = `must be made on machine ${machineId}, where the offer is, and its storage offer is of machine ${volumeOfferId}.`
    misplaced.push({ path: 'newVolumes', message })
  }
  return [...missing, ...(misplaced.length > 0 ? [invalidInput(misplaced)] : []), ...taken]
}

/** Disk that new volumes take of their machine, beside the instance's own. `mountIssues` has refused sizes that no disk has. */
export function newVolumesMb(newVolumes: LaunchVolumes['newVolumes']): number {
  return newVolumes.reduce((sum, { sizeGb }) => sum + (diskMbOf(sizeGb) as number), 0)
}
