import { z } from 'zod'
import type { Issue } from '../../domain/errors.ts'
import type { InstanceChange } from '../../domain/instances/actions.ts'
import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { RentInput } from '../../domain/instances/rent/decide.ts'
import { targetStates } from '../../domain/instances/states.ts'
import { type Environment, type NewVolumeMount, type VolumeMount, volumeProblem } from '../../domain/launch/env.ts'
import { parseEnvFlags, parseEnvObject } from '../../domain/launch/env-flags.ts'
import type { LaunchInput, LaunchMode } from '../../domain/launch/launch.ts'
import { parseImageLogin, type Registry } from '../../domain/launch/registry.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'
import { nanosOfNumber } from '../../domain/money.ts'
import { defaultMountPath, newMountIssues } from '../../domain/volumes/mount.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { isObject } from '../json-values.ts'

/** The launch modes by all of their wire names. */
export const modesByRuntype = new Map<string, LaunchMode>([
  ['ssh_direct', 'sshDirect'],
  ['ssh_direc ssh_proxy', 'sshDirect'],
  ['ssh_proxy', 'sshProxy'],
  ['ssh', 'sshProxy'],
  ['jupyter_direct', 'jupyterDirect'],
  ['jupyter_direc ssh_direc ssh_proxy', 'jupyterDirect'],
  ['jupyter_proxy', 'jupyterProxy'],
  ['jupyter_proxy ssh_proxy', 'jupyterProxy'],
  ['jupyter', 'jupyterProxy'],
  ['args', 'args'],
])

const text = (about: string) => z.string().optional().describe(about)
const flag = (about: string) => z.boolean().optional().describe(about)
const amount = (about: string) => z.number().optional().describe(about)
const state = (about: string) => z.enum(targetStates).optional().describe(about)

/** Checked by hand, since zod's record drops a variable named __proto__. */
function isEnvironment(env: unknown): env is Record<string, unknown> | string {
  return typeof env === 'string' || isObject(env)
}

export const rentBody = z
  .object({
    image: text('Container image. Required without a template.'),
    template_hash_id: text('Hash of the template to start from.'),
    label: text('Name of the instance, at most 256 characters.'),
    disk: amount('Disk size in GB, at least 8. Defaults to the size in the template, or to 8.'),
    disk_space: amount('Alias of disk. If both are sent, disk applies.'),
    runtype: z
      .enum([...modesByRuntype.keys()])
      .optional()
      .describe(
        'Launch mode. Defaults to that of the template, or to ssh_proxy. Without an SSH proxy, the proxy modes get public ports instead.',
      ),
    target_state: state('Initial state; running by default.'),
    price: amount('Bid for the GPUs in US dollars per hour, for an interruptible rental. Absent means on demand.'),
    env: z
      .unknown()
      .refine(isEnvironment, 'must be an object or a string.')
      .optional()
      .meta({
        anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }],
        description:
          'Variables as "NAME": "VALUE" and ports as "-p HOST:CONTAINER": "1". Also accepted as one string of flags.',
      }),
    onstart: text('Shell commands to run once the instance is up, at most 4048 characters.'),
    args_str: text('Arguments that replace those of the image, in the launch mode args.'),
    args: z
      .union([z.array(z.string()), z.string()])
      .optional()
      .describe('The same as args_str, as a string or a list.'),
    use_jupyter_lab: flag('Start JupyterLab instead of the classic notebook.'),
    jupyter_dir: text('Directory in which the notebook server starts.'),
    python_utf8: flag('Set PYTHONUTF8 to 1.'),
    lang_utf8: flag('Set LANG and LC_ALL to C.UTF-8.'),
    image_login: text('Credentials for a private registry: "-u USER -p PASSWORD HOST".'),
    cancel_unavail: flag('Refuse the rental if the instance cannot start at once, instead of waiting for GPUs.'),
    vm: flag('Create a virtual machine instead of a container.'),
    volume_info: z
      .object({
        create_new: z.boolean().nullish().describe('Create a new volume with the rental.'),
        volume_id: z
          .int()
          .nullish()
          .describe('ID of a volume of the account or, with create_new, of a volume offer on the same machine.'),
        mount_path: z.string().nullish().describe(`Path inside the instance; ${defaultMountPath} by default.`),
        name: z.string().nullish().describe('Name of the new volume.'),
        size: z.number().nullish().describe(`Size of the new volume in GB; ${volumeSizeGb.default} by default.`),
      })
      .optional()
      .describe('Volume to attach. It must be on the machine of the offer.'),
  })
  .meta({ id: 'RentRequest', description: 'Settings of a new instance. Only an image or a template is required.' })

export const updateBody = z.object({
  state: state('Desired state.'),
  label: text('Name of the instance, at most 256 characters. "" without a state removes it.'),
})

/** Clients that change the state may send an empty label with it, which means no change. */
export function parseUpdateBody({ state, label }: z.output<typeof updateBody>): InstanceChange {
  return { targetState: state, label: state && label === '' ? undefined : label }
}

export const bulkUpdateBody = updateBody.extend({
  ids: z
    .array(z.int().min(0))
    .optional()
    .describe(`IDs of the instances: 1 to ${maxIdsPerCommand}, duplicates included.`),
})

/** The REST fields of domain fields that have another name. */
export const rentIssuePaths: Record<string, string> = {
  onStart: 'onstart',
  diskGb: 'disk',
  lab: 'use_jupyter_lab',
  directory: 'jupyter_dir',
  args: 'args_str',
  registry: 'image_login',
  bid: 'price',
  ports: 'env',
  hostname: 'env',
  volumes: 'volume_info',
  newVolumes: 'volume_info',
  idempotencyKey: 'Idempotency-Key',
}

/** Parses the settings of a rental. Issues go to `parseIssues`, so that the domain reports them with its own. */
export function parseRentBody(
  body: z.output<typeof rentBody>,
): Omit<RentInput, 'offerId' | 'template'> & { template: { hashId: string } | undefined } {
  const issues: Issue[] = []
  const environment = parseEnvironment(body, issues)
  const { volumes, newVolumes } = parseVolumeInfo(body, issues)
  const launch: LaunchInput = {
    image: body.image,
    mode: modesByRuntype.get(body.runtype ?? ''),
    lab: body.use_jupyter_lab,
    directory: body.jupyter_dir,
    args: parseArgs(body, issues),
    environment: { ...environment, volumes: [...environment.volumes, ...volumes] },
    newVolumes,
    onStart: body.onstart,
    pythonUtf8: body.python_utf8,
    langUtf8: body.lang_utf8,
    registry: parseRegistry(body, issues),
    diskGb: body.disk ?? body.disk_space,
    label: body.label,
    targetState: body.target_state,
    vm: body.vm,
    parseIssues: issues,
  }
  const terms: RentInput['terms'] =
    body.price === undefined ? { interruptible: false } : { interruptible: true, bidNanos: nanosOfNumber(body.price) }
  const template = body.template_hash_id ? { hashId: body.template_hash_id } : undefined
  return { terms, launch, template, failIfUnavailable: body.cancel_unavail ?? false }
}

function parseEnvironment({ env }: z.output<typeof rentBody>, issues: Issue[]): Environment {
  const read = isObject(env) ? parseEnvObject(env) : parseEnvFlags(String(env ?? ''))
  issues.push(...read.issues)
  return read.environment
}

type ParsedMounts = { volumes: VolumeMount[]; newVolumes: NewVolumeMount[] }

/** Parses at most one volume. An invalid one is left out, so that it causes no more issues. */
function parseVolumeInfo({ volume_info }: z.output<typeof rentBody>, issues: Issue[]): ParsedMounts {
  const none: ParsedMounts = { volumes: [], newVolumes: [] }
  const { create_new, volume_id, mount_path, name, size } = volume_info ?? {}
  const [volumeId, mountPath] = [volume_id == null ? undefined : BigInt(volume_id), mount_path || defaultMountPath]
  if (create_new) {
    const mount = { name: name || undefined, sizeGb: size ?? volumeSizeGb.default, mountPath, volumeOfferId: volumeId }
    const found = newMountIssues(mount)
    issues.push(
      ...found.map(({ path, message }) => ({ path: `volume_info.${newVolumeIssuePaths[path] ?? path}`, message })),
    )
    return found.length > 0 ? none : { ...none, newVolumes: [mount] }
  }
  if (volumeId === undefined) {
    if (mount_path) issues.push({ path: 'volume_info.volume_id', message: 'is required.' })
    return none
  }
  const message = volumeProblem({ volumeId, mountPath })
  if (message) issues.push({ path: 'volume_info', message })
  return message ? none : { ...none, volumes: [{ volumeId, mountPath }] }
}

const newVolumeIssuePaths: Record<string, string> = { sizeGb: 'size', mountPath: 'mount_path' }

function parseArgs({ args_str, args }: z.output<typeof rentBody>, issues: Issue[]): string[] | undefined {
  if (Array.isArray(args)) return args
  const words = splitWords(args_str || args || '')
  if (typeof words !== 'string') return words.map(word => word.text)
  issues.push({ path: 'args_str', message: words })
  return undefined
}

function parseRegistry({ image_login }: z.output<typeof rentBody>, issues: Issue[]): Registry | undefined {
  if (!image_login) return undefined
  const registry = parseImageLogin(image_login)
  if (typeof registry === 'object') return registry
  issues.push({ path: 'image_login', message: registry })
  return undefined
}
