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
  description: 'Credentials of a private registry. The password is shown to nobody.',
  fields: t => ({
    host: t.exposeString('host', { description: 'The registry.' }),
    username: t.exposeString('username', { description: 'Who pulls.' }),
  }),
})

const VolumeHint = builder.objectRef<VolumeHintShape>('VolumeHint').implement({
  description: 'Where a volume would be of use. It attaches none: a volume is named when renting.',
  fields: t => ({
    mountPath: t.exposeString('mountPath', { description: 'The path inside.' }),
    sizeGb: t.exposeFloat('sizeGb', { nullable: true, description: 'How large it would be, in GB.' }),
  }),
})

const fromTemplate = { source: 'template' as const }

export const Template = builder.objectRef<TemplateShape>('Template').implement({
  description: 'Settings to begin rentals with.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'Starts with `tpl_`, and stays when the template is changed.',
      resolve: ({ id }) => printId('Template', id),
    }),
    hashId: t.exposeString('hashId', {
      description:
        'What rentals name it by. Of its owner and of all that is shown of it: a changed template has another.',
    }),
    name: t.exposeString('name', { description: 'What its owner calls it.' }),
    public: t.exposeBoolean('public', { description: 'Whether everybody can rent with it.' }),
    mine: t.exposeBoolean('mine', { description: 'Whether it is one of the account, which alone can change it.' }),
    description: t.string({
      description: 'What it is, in a few words. May be empty.',
      resolve: ({ settings }) => settings.about?.description ?? '',
    }),
    readme: t.string({
      description: 'What it is, at length. May be empty.',
      resolve: ({ settings }) => settings.about?.readme ?? '',
    }),
    image: t.string({ description: 'The image.', resolve: ({ settings }) => settings.image }),
    mode: t.field({
      type: LaunchMode,
      nullable: true,
      description: 'How it is entered. Null where that is left to the rental.',
      resolve: ({ settings }) => settings.mode,
    }),
    lab: t.boolean({
      description: 'JupyterLab instead of the classic notebook.',
      resolve: ({ settings }) => settings.lab,
    }),
    directory: t.string({
      nullable: true,
      description: 'Where the notebook starts.',
      resolve: ({ settings }) => settings.directory,
    }),
    args: t.stringList({
      description: 'Arguments for the entrypoint, in ARGS mode.',
      resolve: ({ settings }) => settings.args,
    }),
    env: t.field({
      type: [EnvVar],
      description: 'Environment variables.',
      resolve: ({ settings }) => settings.env.map(variable => ({ ...variable, ...fromTemplate })),
    }),
    ports: t.field({
      type: [PortMapping],
      description: 'Public ports. Those of the mode are added to them.',
      resolve: ({ settings }) => settings.ports.map(port => ({ ...port, ...fromTemplate })),
    }),
    hostname: t.string({ nullable: true, description: 'The host name.', resolve: ({ settings }) => settings.hostname }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once it is up.',
      resolve: ({ settings }) => settings.onStart,
    }),
    diskGb: t.float({
      nullable: true,
      description: 'The disk in GB. Null where that is left to the rental.',
      resolve: ({ settings }) => settings.diskGb,
    }),
    registry: t.field({
      type: RegistryCredential,
      nullable: true,
      description: 'Who pulls the image, from which registry.',
      resolve: ({ settings }) => settings.registry,
    }),
    volumeHint: t.field({
      type: VolumeHint,
      nullable: true,
      description: 'Where a volume would be of use.',
      resolve: ({ settings }) => settings.volumeHint,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first saved.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last saved.' }),
  }),
})

export const templateById = createLoader((context, ids: readonly number[]) =>
  context.services.templates.byIds(context.actor, ids),
)

builder.queryField('template', t =>
  t.field({
    type: Template,
    nullable: true,
    description: `A template by its id or by its hash: one of the account's, or a public one. Null when there is none, or none any more. ${permissionSentence('templates.get')}`,
    args: {
      id: t.arg.id({ description: 'Such as `tpl_42`, or `42`.' }),
      hashId: t.arg.string({ description: 'Its hash. Either this or the id is given.' }),
    },
    resolve: async (_root, { id, hashId }, context) => {
      if (id != null && hashId == null) return await templateById(context).load(Number(parseId('Template', id)))
      if (id == null && hashId != null) return (await context.services.templates.byHash(context.actor, hashId)) ?? null
      throw invalidInput([{ path: 'id', message: 'must be given, or hashId; and not both.' }])
    },
  }),
)
