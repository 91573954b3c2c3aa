import {
  maxSecretCharacters,
  maxSecretVariables,
  type SecretVariable as SecretVariableShape,
} from '../../domain/accounts/secret-variables.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { permissionSentence } from '../permission.ts'
import { SecretVariable } from './secret-variables.ts'

const SecretVariableInput = builder.inputType('SecretVariableInput', {
  description: 'A variable with its value.',
  fields: t => ({
    name: t.string({ required: true, description: 'Letters, digits and _, not starting with a digit.' }),
    value: t.string({ required: true, description: 'Its value, which is not empty.' }),
  }),
})

const SetSecretVariablesInput = builder.inputType('SetSecretVariablesInput', {
  description: 'Variables that every new rental is to get.',
  fields: t => ({
    variables: t.field({
      type: [SecretVariableInput],
      required: true,
      description: `The variables: all of them are set, or none. Names and values have at most ${maxSecretCharacters} characters in the whole account.`,
    }),
  }),
})

const DeleteSecretVariableInput = builder.inputType('DeleteSecretVariableInput', {
  description: 'Which variable is deleted.',
  fields: t => ({ name: t.string({ required: true, description: 'Its name.' }) }),
})

const SetSecretVariablesSuccess = builder
  .objectRef<{ variables: SecretVariableShape[] }>('SetSecretVariablesSuccess')
  .implement({
    description: 'The variables were set.',
    fields: t => ({
      variables: t.expose('variables', { type: [SecretVariable], description: 'Those that were set, by name.' }),
    }),
  })

const DeleteSecretVariableSuccess = builder
  .objectRef<{ deletedName: string }>('DeleteSecretVariableSuccess')
  .implement({
    description: 'The variable was deleted.',
    fields: t => ({ deletedName: t.exposeString('deletedName', { description: 'What it was called.' }) }),
  })

const setResult = resultUnion(
  'SetSecretVariablesResult',
  'The variables that were set, or why none was.',
  SetSecretVariablesSuccess,
  ['INVALID_INPUT', 'CONFLICT'],
)

const deleteResult = resultUnion(
  'DeleteSecretVariableResult',
  'What was deleted, or why nothing was.',
  DeleteSecretVariableSuccess,
  ['NOT_FOUND'],
)

builder.mutationFields(t => ({
  setSecretVariables: t.field({
    type: setResult.union,
    description: `Sets environment variables that every new rental of the account gets, in place of those of the same names. An account has at most ${maxSecretVariables}. What is rented already stays as it is. ${permissionSentence('secretVariables.set')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SetSecretVariablesInput, required: true, description: 'The variables.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      setResult.answer({ env: 'variables' }, async () => ({
        variables: await services.secretVariables.set(actor, input.variables),
      })),
  }),
  deleteSecretVariable: t.field({
    type: deleteResult.union,
    description: `Deletes a variable of the account. What is rented already keeps it. ${permissionSentence('secretVariables.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteSecretVariableInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input: { name } }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        await services.secretVariables.delete(actor, name)
        return { deletedName: name }
      }),
  }),
}))
