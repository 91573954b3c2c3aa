import type { SecretVariable as SecretVariableShape } from '../../domain/accounts/secret-variables.ts'
import { builder } from '../builder.ts'

export const SecretVariable = builder.objectRef<SecretVariableShape>('SecretVariable').implement({
  description:
    'An environment variable that every new rental of its account gets, unless the rental or its template has one of the same name. Its value is kept encrypted, and shown to nobody.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first set.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last set.' }),
  }),
})
