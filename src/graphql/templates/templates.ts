import type { Registry } from '../../domain/launch/registry.ts'
import { settingsOf, type VolumeHint as VolumeHintShape } from '../../domain/templates/templates.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { EnvVar, PortMapping } from '../launch/launch.ts'
import { LaunchMode } from '../launch/mode.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'
import { parseTemplateBy, TemplateByInput } from './by.ts'

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

const settings = { settings: true } as const

export const Template = builder.prismaObject('Template', {
  select: { id: true },
  description: 'Saved settings to rent instances with.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the template, such as `tpl_42`. It stays the same when the template changes.',
      resolve: ({ id }) => printId('Template', id),
    }),
    hashId: t.exposeString('hashId', {
      description:
        'Content hash of the owner and all visible settings. It changes with every edit of them, but not with the value of a secret. A rental that names the template by this hash is refused if the settings have changed since you read it.',
    }),
    name: t.exposeString('name', { description: 'Name that the owner gave the template.' }),
    public: t.exposeBoolean('public', { description: 'Whether every account can rent with the template.' }),
    mine: t.boolean({
      description: 'Whether the template belongs to your account. Only its owner can change it.',
      select: { accountId: true },
      resolve: ({ accountId }, _args, { actor }) => accountId === actor.accountId,
    }),
    description: t.string({
      nullable: true,
      description: 'Short description of the template. Null without one.',
      select: settings,
      resolve: template => settingsOf(template).about?.description || null,
    }),
    readme: t.string({
      nullable: true,
      description: 'Long description of the template. Null without one.',
      select: settings,
      resolve: template => settingsOf(template).about?.readme || null,
    }),
    image: t.string({
      description: 'Container image, such as `pytorch/pytorch:latest`.',
      select: settings,
      resolve: template => settingsOf(template).image,
    }),
    mode: t.field({
      type: LaunchMode,
      nullable: true,
      description:
        'Program that starts in an instance, and the way to reach it. Null if the template leaves it to the rent request.',
      select: settings,
      resolve: template => {
        const { mode, ...others } = settingsOf(template)
        return mode && { ...others, mode }
      },
    }),
    env: t.field({
      type: [EnvVar],
      description: 'Environment variables of the container.',
      select: settings,
      resolve: template => settingsOf(template).env.map(variable => ({ ...variable, ...fromTemplate })),
    }),
    ports: t.field({
      type: [PortMapping],
      description: 'Public ports to forward to the container. The launch mode may add more.',
      select: settings,
      resolve: template => settingsOf(template).ports.map(port => ({ ...port, ...fromTemplate })),
    }),
    hostname: t.string({
      nullable: true,
      description: 'Host name of the container. Null when not set.',
      select: settings,
      resolve: template => settingsOf(template).hostname,
    }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once the container is up. Null when not set.',
      select: settings,
      resolve: template => settingsOf(template).onStart,
    }),
    diskGb: t.float({
      nullable: true,
      description: 'Disk size in GB. Null when the template leaves it to the rent request.',
      select: settings,
      resolve: template => settingsOf(template).diskGb,
    }),
    registry: t.field({
      type: RegistryCredential,
      nullable: true,
      description: 'Credentials for an image in a private registry. Null when not set.',
      select: settings,
      resolve: template => settingsOf(template).registry,
    }),
    volumeHint: t.field({
      type: VolumeHint,
      nullable: true,
      description: 'Suggested mount point of a volume. Null when not set.',
      select: settings,
      resolve: template => settingsOf(template).volumeHint,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the template was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the template was last changed.' }),
  }),
})

export const templateById = createSelectedLoader((context, ids: readonly number[], select) =>
  context.services.templates.byIds(context.actor, ids, select),
)

builder.queryField('template', t =>
  t.field({
    type: Template,
    nullable: true,
    description: 'A template of your account, or a public one. Null when no such template exists now.',
    requires: 'templates.get',
    args: { by: t.arg({ type: TemplateByInput, required: true, description: 'ID, hash or name of the template.' }) },
    resolve: async (_root, { by }, context, info) => {
      const { services, actor } = context
      const select = selectionOf(context, info)
      const reference = parseTemplateBy(by, 'by')
      if ('id' in reference) return await templateById(context, select).load(Number(reference.id))
      if ('hashId' in reference) return (await services.templates.byHash(actor, reference.hashId, select)) ?? null
      return (await services.templates.ownByName(actor, reference.name, select)) ?? null
    },
  }),
)
