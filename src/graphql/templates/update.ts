import type { Template as TemplateShape } from '../../domain/templates/templates.ts'
import { builder } from '../builder.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { launchFields, launchIssuePaths, parseLaunchInput } from '../launch/input.ts'
import { idempotencyKey, replayed } from '../mutations.ts'
import { permissionSentence } from '../permission.ts'
import { Template } from './templates.ts'

const VolumeHintInput = builder.inputType('VolumeHintInput', {
  description: 'Suggested mount point of a volume. It attaches nothing.',
  fields: t => ({
    mountPath: t.string({ required: true, description: 'Absolute path of the mount point in the container.' }),
    sizeGb: t.float({ description: 'Suggested volume size in GB.' }),
  }),
})

const SaveTemplateInput = builder.inputType('SaveTemplateInput', {
  description:
    'Settings of a new template or, with `id`, all settings of an existing one. Absent fields are then reset, but secrets only with `dropSecrets`. Settings that only REST can express stay.',
  fields: t => ({
    id: t.id({
      description: 'ID of the template to change, such as `tpl_42` or `42`. Without it a new template is created.',
    }),
    name: t.string({ required: true, description: 'Name of the template, 1 to 256 characters.' }),
    public: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Let every account rent with the template. A public template cannot contain secrets. Defaults to false.',
    }),
    description: t.string({ description: 'Short description of the template, at most 2048 characters.' }),
    readme: t.string({ description: 'Long description of the template, at most 50,000 characters.' }),
    image: t.string({ required: true, description: 'Container image, such as `pytorch/pytorch:latest`.' }),
    ...launchFields(t),
    volumeHint: t.field({ type: VolumeHintInput, description: 'Suggested mount point of a volume.' }),
    dropSecrets: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Remove the registry credentials and secret variables that this input leaves out. Defaults to false: leaving them out is refused.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const saveResult = mutationResult<{ template: TemplateShape; replayed: boolean }>('saveTemplate', {
  description: 'The saved template, or the error that prevented saving.',
  success: {
    description: 'The template was saved.',
    fields: t => ({
      template: t.expose('template', { type: Template, description: 'The template after the change.' }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
})

builder.mutationField('saveTemplate', t =>
  t.field({
    type: saveResult.union,
    description: `Creates a template or replaces the settings of one. Saving the same settings again is refused with \`CONFLICT\`, which names the existing template. ${permissionSentence('templates.save')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SaveTemplateInput, required: true, description: 'The settings to save.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      saveResult.answer(launchIssuePaths, () => {
        const { id, name, public: isPublic, image, volumeHint, dropSecrets, idempotencyKey, ...more } = input
        const { description, readme, ...settings } = more
        const hint = volumeHint && { mountPath: volumeHint.mountPath, sizeGb: volumeHint.sizeGb ?? undefined }
        const launch = { ...parseLaunchInput(settings), image }
        return services.templates.save(actor, {
          id: id == null ? undefined : Number(parseId('Template', id)),
          input: {
            name,
            public: isPublic,
            launch,
            volumeHint: hint ?? undefined,
            about: aboutOf({ description, readme }),
          },
          dropSecrets,
          idempotencyKey,
        })
      }),
  }),
)

function aboutOf(texts: { description?: string | null | undefined; readme?: string | null | undefined }) {
  return { description: texts.description ?? '', readme: texts.readme ?? '' }
}

const DeleteTemplateInput = builder.inputType('DeleteTemplateInput', {
  description: 'The template to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the template, such as `tpl_42` or `42`.' }) }),
})

const deletionResult = deleteResult('Template', 'template', ['INVALID_INPUT', 'NOT_FOUND'])

builder.mutationField('deleteTemplate', t =>
  t.field({
    type: deletionResult.union,
    description: `Deletes a template of your account. Instances rented with it do not change. ${permissionSentence('templates.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteTemplateInput, required: true, description: 'The template to delete.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const id = Number(parseId('Template', input.id))
        await services.templates.delete(actor, id)
        return { deletedId: id }
      }),
  }),
)
