import { type Issue, joinIssues } from '../../domain/errors.ts'
import {
  issuesAt,
  mountPathProblem,
  type NewVolumeMount,
  type VolumeMount,
  volumeIdProblem,
} from '../../domain/launch/env.ts'
import { defaultMountPath, newMountIssues } from '../../domain/volumes/mount.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { tryParseId } from '../ids.ts'
import { blankNameIssues } from '../mutations.ts'

const NewVolumeInput = builder.inputType('NewVolumeInput', {
  description: 'A volume to create together with the rental, on the machine of the offer.',
  fields: t => ({
    name: t.string({ description: 'Name of the volume: 1-64 letters, digits, _ and -. Defaults to `volume`.' }),
    sizeGb: t.float({ required: true, description: `Size of the volume in GB, at least ${volumeSizeGb.least}.` }),
  }),
})

const VolumeSourceInput = builder.inputType('VolumeSourceInput', {
  description: 'A volume to mount: an existing one or a new one.',
  isOneOf: true,
  fields: t => ({
    volumeId: t.id({
      description:
        'ID of a volume of your account, such as `vol_42` or `42`. It must not be attached to another instance.',
    }),
    create: t.field({ type: NewVolumeInput, description: 'A new volume. It is kept when the instance is destroyed.' }),
  }),
})

export const VolumeMountInput = builder.inputType('VolumeMountInput', {
  description: 'A volume to mount in an instance.',
  fields: t => ({
    source: t.field({ type: VolumeSourceInput, required: true, description: 'The volume to mount.' }),
    mountPath: t.string({
      required: true,
      defaultValue: defaultMountPath,
      description:
        'Absolute path of the volume in the instance, not below the path of another volume, nor in /proc, /sys, /dev or /.berth. Defaults to `/data`.',
    }),
  }),
})

type MountInput = typeof VolumeMountInput.$inferInput
type ParsedMounts = { volumes: VolumeMount[]; newVolumes: NewVolumeMount[]; parseIssues: Issue[] }

/** The valid mounts, and the issues of the invalid ones. */
export function parseVolumeMounts(inputs: MountInput[]): ParsedMounts {
  const mounts: ParsedMounts = { volumes: [], newVolumes: [], parseIssues: [] }
  for (const [index, { source, mountPath }] of inputs.entries()) {
    const path = `volumes.${index}`
    if (source.create) parseNewVolume(source.create, mountPath, path, mounts)
    else parseExistingVolume(String(source.volumeId), mountPath, path, mounts)
  }
  return mounts
}

function parseNewVolume(
  { name, sizeGb }: typeof NewVolumeInput.$inferInput,
  mountPath: string,
  path: string,
  { newVolumes, parseIssues }: ParsedMounts,
): void {
  const mount = { name: name ?? undefined, sizeGb, mountPath }
  const blankIssues = blankNameIssues({ [`${path}.source.create.name`]: name })
  const otherIssues = newMountIssues(mount).map(issue => {
    const place = issue.path === 'mountPath' ? 'mountPath' : `source.create.${issue.path}`
    return { path: `${path}.${place}`, message: issue.message }
  })
  const issues = joinIssues(blankIssues, otherIssues)
  parseIssues.push(...issues)
  if (issues.length === 0) newVolumes.push(mount)
}

function parseExistingVolume(
  id: string,
  mountPath: string,
  path: string,
  { volumes, parseIssues }: ParsedMounts,
): void {
  const volumeId = tryParseId('Volume', id)
  if (typeof volumeId === 'string') {
    parseIssues.push({ path: `${path}.source.volumeId`, message: `${volumeId}.` })
    return
  }
  const issues = [
    ...issuesAt(`${path}.source.volumeId`, volumeIdProblem(volumeId)),
    ...issuesAt(`${path}.mountPath`, mountPathProblem(mountPath)),
  ]
  parseIssues.push(...issues)
  if (issues.length === 0) volumes.push({ volumeId, mountPath })
}
