// How requests name a template.

import type { TemplateReference } from '../../domain/templates/templates.ts'
import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'

export const TemplateByInput = builder.inputType('TemplateByInput', {
  description: 'How a request names a template. Give exactly one field.',
  isOneOf: true,
  fields: t => ({
    id: t.id({ description: 'ID of the template, such as `tpl_42` or `42`.' }),
    hashId: t.string({ description: 'Hash of the current settings of the template: `Template.hashId`.' }),
    name: t.string({
      description:
        'Name of a template of your own account, exactly as it is written. Refused if several templates have the name.',
    }),
  }),
})

/** `path` is where the request has the input, for the paths of issues. */
export function parseTemplateBy(
  { id, hashId, name }: typeof TemplateByInput.$inferInput,
  path: string,
): TemplateReference {
  if (id != null) return { id: parseId('Template', id, `${path}.id`) }
  return hashId != null ? { hashId } : { name: name ?? '' }
}
