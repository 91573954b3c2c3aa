import { builder } from '../builder.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { launchFields, launchIssuePaths, parseLaunchInput } from '../launch/input.ts'
import { blankNameIssues, idempotencyKey, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { Template } from './templates.ts'

export const VolumeHintInput = builder.inputType('VolumeHintInput', {
  description: 'Suggested mount point of a volume. It attaches nothing.',
  fields: t => ({
    mountPath: t.string({
      required: true,
      description: 'Absolute path of the mount point in the container, such as `/data`.',
    }),
    sizeGb: t.float({ description: 'Suggested volume size in GB. None is suggested if absent or null.' }),
  }),
})

/** Descriptions of fields that both inputs have. */
export const fieldDescriptions = {
  name: 'Name of the template, 1 to 256 characters. Several templates may have the same name.',
  public: 'Let every account rent with the template. A public template cannot contain secrets.',
  description: 'Short description of the template, at most 2048 characters.',
  readme: 'Long description of the template, at most 50,000 characters.',
  image: 'Container image, such as `pytorch/pytorch:latest`.',
  volumeHint: 'Suggested mount point of a volume. It attaches nothing.',
}

const CreateTemplateInput = builder.inputType('CreateTemplateInput', {
  description: 'Settings of a new template.',
  fields: t => ({
    name: t.string({ required: true, description: fieldDescriptions.name }),
    public: t.boolean({
      required: true,
      defaultValue: false,
      description: `${fieldDescriptions.public} Defaults to false.`,
    }),
    description: t.string({ description: `${fieldDescriptions.description} None if absent or null.` }),
    readme: t.string({ description: `${fieldDescriptions.readme} None if absent or null.` }),
    image: t.string({ required: true, description: fieldDescriptions.image }),
    ...launchFields(t, {
      mode: 'If absent or null, the rent request chooses it.',
      diskGb: 'If absent or null, the rent request chooses it.',
      env: 'Defaults to none.',
      ports: 'Defaults to none.',
      others: 'None if absent or null.',
    }),
    volumeHint: t.field({
      type: VolumeHintInput,
      description: `${fieldDescriptions.volumeHint} None if absent or null.`,
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

export type SavedTemplate = { template: { id: number }; replayed: boolean }

const createResult = mutationResult<SavedTemplate>('createTemplate', {
  description: 'The new template, or the error that prevented its creation.',
  success: {
    description: 'The template was created.',
    fields: t => ({
      template: t.expose('template', {
        type: Template,
        description: 'The new template. A replayed answer shows it as it is now.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: ['INVALID_INPUT', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
})

builder.mutationField('createTemplate', t =>
  t.field({
    type: createResult.union,
    description:
      'Creates a template. If your account has one with the same settings, it is refused with `CONFLICT`, which names that template.',
    requires: 'templates.save',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateTemplateInput, required: true, description: 'The settings to save.' }) },
    resolve: (_root, { input }, context, info) =>
      createResult.answer(launchIssuePaths, () => {
        const { services, actor } = context
        const { name, public: isPublic, image, description, readme, volumeHint, idempotencyKey, ...settings } = input
        const select = selectionOf(context, info, { of: { type: 'CreateTemplateSuccess', name: 'template' } })
        const { parseIssues, ...launch } = parseLaunchInput(settings)
        const saving = {
          input: {
            name,
            public: isPublic,
            launch: { ...launch, image, parseIssues: [...blankNameIssues({ name }), ...parseIssues] },
            volumeHint: parseVolumeHint(volumeHint) ?? undefined,
            about: { description: description ?? '', readme: readme ?? '' },
          },
          idempotencyKey,
        }
        return services.templates.create(actor, saving, select)
      }),
  }),
)

export function parseVolumeHint(hint: typeof VolumeHintInput.$inferInput | null | undefined) {
  return hint && { mountPath: hint.mountPath, sizeGb: hint.sizeGb ?? undefined }
}
