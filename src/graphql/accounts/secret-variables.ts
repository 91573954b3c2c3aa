import type { SecretVariable as SecretVariableShape } from '../../domain/accounts/secret-variables.ts'
import { builder } from '../builder.ts'

export const SecretVariable = builder.objectRef<SecretVariableShape>('SecretVariable').implement({
  description:
    'An environment variable that every new rental of the account gets, unless the rental or its template sets one of the same name. The value is stored encrypted and never shown.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Name of the environment variable.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the variable was first set.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the variable was last set.' }),
  }),
})
