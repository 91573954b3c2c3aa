import { omitUndefined } from '../../domain/templates/about.ts'
import type { TemplatePatch } from '../../domain/templates/patch.ts'
import { builder } from '../builder.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { launchChangeFields, parseLaunchChanges, textChange } from '../launch/changes.ts'
import { launchIssuePaths } from '../launch/input.ts'
import { blankNameIssues, idempotencyKey, refuseEmpty, refuseNull, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { fieldDescriptions, parseVolumeHint, type SavedTemplate, VolumeHintInput } from './create.ts'
import { Template } from './templates.ts'

const kept = 'If absent, it stays; null is refused.'
const removable = 'If absent, it stays; null removes it.'

const UpdateTemplateInput = builder.inputType('UpdateTemplateInput', {
  description:
    'Changes to a template. Absent fields stay as they are, and so do secrets that are given without a value. Null removes a setting.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the template to change, such as `tpl_42` or `42`.' }),
    name: t.string({ description: `${fieldDescriptions.name} ${kept}` }),
    public: t.boolean({ description: `${fieldDescriptions.public} ${kept}` }),
    description: t.string({ description: `${fieldDescriptions.description} ${removable}` }),
    readme: t.string({ description: `${fieldDescriptions.readme} ${removable}` }),
    image: t.string({ description: `${fieldDescriptions.image} ${kept}` }),
    ...launchChangeFields(t),
    volumeHint: t.field({ type: VolumeHintInput, description: `${fieldDescriptions.volumeHint} ${removable}` }),
    expectedHashId: t.string({
      description:
        'Hash that you read before: the change is refused with `CONFLICT` if the template has another hash by now. If absent or null, the change is applied to whatever the template is by now. The hash does not show that the value of a secret has changed.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const updateResult = mutationResult<SavedTemplate>('updateTemplate', {
  description: 'The changed template, or the error that prevented the change.',
  success: {
    description: 'The template was changed.',
    fields: t => ({
      template: t.expose('template', {
        type: Template,
        description: 'The template after the change. A replayed answer shows it as it is now.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
})

builder.mutationField('updateTemplate', t =>
  t.field({
    type: updateResult.union,
    description:
      'Changes a template of your account. The template keeps its ID and the settings that are not given; its hash changes. Refused with `CONFLICT` if another template of your account has the same settings.',
    requires: 'templates.save',
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateTemplateInput, required: true, description: 'The template and its changes.' }) },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer(launchIssuePaths, () => {
        const { services, actor } = context
        const { id, expectedHashId, idempotencyKey, ...changes } = input
        const update = {
          id: Number(parseId('Template', id)),
          patch: parseTemplatePatch(changes),
          expectedHashId: expectedHashId ?? undefined,
          idempotencyKey,
        }
        const select = selectionOf(context, info, { of: { type: 'UpdateTemplateSuccess', name: 'template' } })
        return services.templates.update(actor, update, select)
      }),
  }),
)

type Changes = Omit<typeof UpdateTemplateInput.$inferInput, 'id' | 'expectedHashId' | 'idempotencyKey'>

function parseTemplatePatch({ name, public: isPublic, image, description, readme, volumeHint, ...settings }: Changes) {
  const { launch, parseIssues } = parseLaunchChanges(settings)
  const issues = [
    ...blankNameIssues({ name }),
    ...refuseNull({ name, public: isPublic, image }),
    ...refuseEmpty({ description, readme, onStart: settings.onStart, hostname: settings.hostname }),
    ...parseIssues,
  ]
  const texts = { description: textChange(description), readme: textChange(readme) }
  return {
    name: name ?? undefined,
    public: isPublic ?? undefined,
    launch: { ...launch, image: image ?? undefined, parseIssues: issues },
    volumeHint: parseVolumeHint(volumeHint),
    about: omitUndefined(texts),
  } satisfies TemplatePatch
}
