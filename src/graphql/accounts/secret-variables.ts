import {
  maxSecretCharacters,
  maxSecretVariables,
  type SecretVariable as SecretVariableShape,
} from '../../domain/accounts/secret-variables.ts'
import { builder } from '../builder.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { permissionSentence } from '../permission.ts'

export const SecretVariable = builder.objectRef<SecretVariableShape>('SecretVariable').implement({
  description:
    'An environment variable that every new rental of the account gets, unless the rental or its template sets one of the same name. The value is stored encrypted and never shown.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Name of the environment variable.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the variable was first set.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the variable was last set.' }),
  }),
})

const SecretVariableInput = builder.inputType('SecretVariableInput', {
  description: 'A secret environment variable with its value.',
  fields: t => ({
    name: t.string({
      required: true,
      description: 'Name of the variable: letters, digits and `_`, not starting with a digit.',
    }),
    value: t.string({ required: true, description: 'Value of the variable. Must not be empty.' }),
  }),
})

const UpdateSecretVariablesInput = builder.inputType('UpdateSecretVariablesInput', {
  description: 'Secret variables for every new rental.',
  fields: t => ({
    variables: t.field({
      type: [SecretVariableInput],
      required: true,
      description: `The variables to set. Either all are set or none. All names and values in the account together have at most ${maxSecretCharacters} characters.`,
    }),
  }),
})

const DeleteSecretVariableInput = builder.inputType('DeleteSecretVariableInput', {
  description: 'The secret variable to delete.',
  fields: t => ({ name: t.string({ required: true, description: 'Name of the variable.' }) }),
})

const updateResult = mutationResult<{ variables: SecretVariableShape[] }>('updateSecretVariables', {
  description: 'The variables that were set, or why none was set.',
  success: {
    description: 'The secret variables were set.',
    fields: t => ({
      variables: t.expose('variables', {
        type: [SecretVariable],
        description: 'The variables that were set, sorted by name.',
      }),
    }),
  },
  errors: ['INVALID_INPUT', 'CONFLICT'],
})

const deletionResult = mutationResult<{ deletedName: string }>('deleteSecretVariable', {
  description: 'The name of the deleted variable, or why none was deleted.',
  success: {
    description: 'The secret variable was deleted.',
    fields: t => ({ deletedName: t.exposeString('deletedName', { description: 'Name of the deleted variable.' }) }),
  },
  errors: ['NOT_FOUND'],
})

builder.mutationFields(t => ({
  updateSecretVariables: t.field({
    type: updateResult.union,
    description: `Sets secret environment variables for every new rental, replacing those with the same names. Existing instances do not change. An account has at most ${maxSecretVariables}. ${permissionSentence('secretVariables.set')}`,
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateSecretVariablesInput, required: true, description: 'The secret variables to set.' }),
    },
    resolve: (_root, { input }, { services, actor }) =>
      updateResult.answer({ env: 'variables' }, async () => ({
        variables: await services.secretVariables.set(actor, input.variables),
      })),
  }),
  deleteSecretVariable: t.field({
    type: deletionResult.union,
    description: `Deletes a secret variable of the account. Existing instances keep it. ${permissionSentence('secretVariables.delete')}`,
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: DeleteSecretVariableInput, required: true, description: 'The secret variable to delete.' }),
    },
    resolve: (_root, { input: { name } }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        await services.secretVariables.delete(actor, name)
        return { deletedName: name }
      }),
  }),
}))
