import type { Template as TemplateShape } from '../../domain/templates/templates.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { DeleteSuccess } from '../inputs/deletion.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { launchFields, launchIssuePaths, parseLaunchInput } from '../launch/input.ts'
import { permissionSentence } from '../permission.ts'
import { Template } from './templates.ts'

const VolumeHintInput = builder.inputType('VolumeHintInput', {
  description: 'Where a volume would be of use. It attaches none.',
  fields: t => ({
    mountPath: t.string({ required: true, description: 'The path inside.' }),
    sizeGb: t.float({ description: 'How large it would be, in GB.' }),
  }),
})

const SaveTemplateInput = builder.inputType('SaveTemplateInput', {
  description:
    'Settings to begin rentals with. With the id of a template they replace all that it has: what is absent is gone. Secrets go only with `dropSecrets`. What only REST clients can say of it stays.',
  fields: t => ({
    id: t.id({ description: 'The template to change, such as `tpl_42`, or `42`. A new one is made when absent.' }),
    name: t.string({ required: true, description: 'What you call it, 1 to 256 characters.' }),
    public: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Let everybody rent with it. It can hold no secret then.',
    }),
    description: t.string({ description: 'What it is, in at most 2048 characters.' }),
    readme: t.string({ description: 'What it is, in at most 50,000 characters.' }),
    image: t.string({ required: true, description: 'A container image.' }),
    ...launchFields(t),
    volumeHint: t.field({ type: VolumeHintInput, description: 'Where a volume would be of use.' }),
    dropSecrets: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Let the template lose the registry login and the secret variables that this leaves out.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const SaveTemplateSuccess = builder
  .objectRef<{ template: TemplateShape; replayed: boolean }>('SaveTemplateSuccess')
  .implement({
    description: 'The template was saved.',
    fields: t => ({
      template: t.expose('template', { type: Template, description: 'What it is now.' }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  })

const saveResult = resultUnion('SaveTemplateResult', 'A template, or why it was not saved.', SaveTemplateSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
  'CONFLICT',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
])

builder.mutationField('saveTemplate', t =>
  t.field({
    type: saveResult.union,
    description: `Saves settings to begin rentals with, anew or in place of those of a template. The same settings twice are a conflict that names the first. ${permissionSentence('templates.save')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SaveTemplateInput, required: true, description: 'What is wanted.' }) },
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
  description: 'Which template is deleted.',
  fields: t => ({ id: t.id({ required: true, description: 'Such as `tpl_42`, or `42`.' }) }),
})

const deleteResult = resultUnion('DeleteTemplateResult', 'What was deleted, or why nothing was.', DeleteSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])

builder.mutationField('deleteTemplate', t =>
  t.field({
    type: deleteResult.union,
    description: `Deletes one of the account's templates. What was rented with it stays as it is. ${permissionSentence('templates.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteTemplateInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        const id = Number(parseId('Template', input.id))
        await services.templates.delete(actor, id)
        return { type: 'Template' as const, deletedId: id }
      }),
  }),
)
