import { invalidInput } from '../../domain/errors.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import type { Template as TemplateShape, VolumeHint as VolumeHintShape } from '../../domain/templates/templates.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { EnvVar, LaunchMode, PortMapping } from '../launch/launch.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'

const RegistryCredential = builder.objectRef<Omit<Registry, 'password'>>('RegistryCredential').implement({
  description: 'Credentials of a private registry. The password is never shown.',
  fields: t => ({
    host: t.exposeString('host', { description: 'Host of the registry, such as `ghcr.io`.' }),
    username: t.exposeString('username', { description: 'User name for the registry.' }),
  }),
})

const VolumeHint = builder.objectRef<VolumeHintShape>('VolumeHint').implement({
  description: 'Suggested mount point of a volume. It attaches nothing: the rent request names the volume.',
  fields: t => ({
    mountPath: t.exposeString('mountPath', { description: 'Path of the mount point in the container.' }),
    sizeGb: t.exposeFloat('sizeGb', {
      nullable: true,
      description: 'Suggested volume size in GB. Null when the template suggests none.',
    }),
  }),
})

const fromTemplate = { source: 'template' as const }

export const Template = builder.objectRef<TemplateShape>('Template').implement({
  description: 'Saved settings to rent instances with.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the template, such as `tpl_42`. It stays the same when the template changes.',
      resolve: ({ id }) => printId('Template', id),
    }),
    hashId: t.exposeString('hashId', {
      description:
        'Content hash of the owner and all visible settings. Changes with every edit. Rent requests name the template by this hash.',
    }),
    name: t.exposeString('name', { description: 'Name that the owner gave the template.' }),
    public: t.exposeBoolean('public', { description: 'Whether every account can rent with the template.' }),
    mine: t.exposeBoolean('mine', {
      description: 'Whether the template belongs to your account. Only its owner can change it.',
    }),
    description: t.string({
      description: 'Short description of the template. May be empty.',
      resolve: ({ settings }) => settings.about?.description ?? '',
    }),
    readme: t.string({
      description: 'Long description of the template. May be empty.',
      resolve: ({ settings }) => settings.about?.readme ?? '',
    }),
    image: t.string({ description: 'Container image.', resolve: ({ settings }) => settings.image }),
    mode: t.field({
      type: LaunchMode,
      nullable: true,
      description: 'Launch mode. Null when the template leaves it to the rent request.',
      resolve: ({ settings }) => settings.mode,
    }),
    lab: t.boolean({
      description: 'Whether the notebook is JupyterLab instead of the classic one.',
      resolve: ({ settings }) => settings.lab,
    }),
    directory: t.string({
      nullable: true,
      description: 'Directory in which the notebook starts. Null when not set.',
      resolve: ({ settings }) => settings.directory,
    }),
    args: t.stringList({
      description: 'Arguments for the entrypoint of the image. Empty unless the mode is `ARGS`.',
      resolve: ({ settings }) => settings.args,
    }),
    env: t.field({
      type: [EnvVar],
      description: 'Environment variables of the container.',
      resolve: ({ settings }) => settings.env.map(variable => ({ ...variable, ...fromTemplate })),
    }),
    ports: t.field({
      type: [PortMapping],
      description: 'Public ports to forward to the container. The launch mode may add more.',
      resolve: ({ settings }) => settings.ports.map(port => ({ ...port, ...fromTemplate })),
    }),
    hostname: t.string({
      nullable: true,
      description: 'Host name of the container. Null when not set.',
      resolve: ({ settings }) => settings.hostname,
    }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once the container is up. Null when not set.',
      resolve: ({ settings }) => settings.onStart,
    }),
    diskGb: t.float({
      nullable: true,
      description: 'Disk size in GB. Null when the template leaves it to the rent request.',
      resolve: ({ settings }) => settings.diskGb,
    }),
    registry: t.field({
      type: RegistryCredential,
      nullable: true,
      description: 'Credentials for an image in a private registry. Null when not set.',
      resolve: ({ settings }) => settings.registry,
    }),
    volumeHint: t.field({
      type: VolumeHint,
      nullable: true,
      description: 'Suggested mount point of a volume. Null when not set.',
      resolve: ({ settings }) => settings.volumeHint,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the template was first saved.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the template was last saved.' }),
  }),
})

export const templateById = createLoader((context, ids: readonly number[]) =>
  context.services.templates.byIds(context.actor, ids),
)

builder.queryField('template', t =>
  t.field({
    type: Template,
    nullable: true,
    description: `A template by ID or by hash: one of your account, or a public one. Null when no such template exists now. ${permissionSentence('templates.get')}`,
    args: {
      id: t.arg.id({ description: 'ID of the template, such as `tpl_42` or `42`. Give either this or `hashId`.' }),
      hashId: t.arg.string({ description: 'Hash of the template. Give either this or `id`.' }),
    },
    resolve: async (_root, { id, hashId }, context) => {
      if (id != null && hashId == null) return await templateById(context).load(Number(parseId('Template', id)))
      if (id == null && hashId != null) return (await context.services.templates.byHash(context.actor, hashId)) ?? null
      throw invalidInput([{ path: 'id', message: 'or hashId must be given, but not both.' }])
    },
  }),
)
