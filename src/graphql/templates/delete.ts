import { builder } from '../builder.ts'
import { deleteResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'

const DeleteTemplateInput = builder.inputType('DeleteTemplateInput', {
  description: 'The template to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the template, such as `tpl_42` or `42`.' }) }),
})

const deletionResult = deleteResult('Template', 'template', ['INVALID_INPUT', 'NOT_FOUND'])

builder.mutationField('deleteTemplate', t =>
  t.field({
    type: deletionResult.union,
    description: 'Deletes a template of your account. Instances rented with it do not change.',
    requires: 'templates.delete',
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
