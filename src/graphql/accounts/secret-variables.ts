import { maxSecretCharacters, maxSecretVariables } from '../../domain/accounts/secret-variables.ts'
import { builder } from '../builder.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { namedSelectionOf } from '../selection.ts'

export const SecretVariable = builder.prismaObject('SecretVariable', {
  select: { name: true },
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

const DeleteSecretVariablesInput = builder.inputType('DeleteSecretVariablesInput', {
  description: 'The secret variables to delete.',
  fields: t => ({
    names: t.stringList({
      required: true,
      description: `Names of the variables, 1-${maxSecretVariables}. Either all are deleted or none.`,
    }),
  }),
})

const updateResult = mutationResult<{ variables: { name: string }[] }>('updateSecretVariables', {
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

const deletionResult = mutationResult<{ deletedNames: string[] }>('deleteSecretVariables', {
  description: 'The names of the deleted variables, or why none was deleted.',
  success: {
    description: 'The secret variables were deleted.',
    fields: t => ({
      deletedNames: t.exposeStringList('deletedNames', {
        description: 'Names of the deleted variables, in the order of the request.',
      }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})

builder.mutationFields(t => ({
  updateSecretVariables: t.field({
    type: updateResult.union,
    description: `Sets secret environment variables for every new rental, replacing those with the same names. Existing instances do not change. An account has at most ${maxSecretVariables}.`,
    requires: 'secretVariables.set',
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateSecretVariablesInput, required: true, description: 'The secret variables to set.' }),
    },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer({ env: 'variables' }, async () => {
        const { services, actor } = context
        const of = { type: 'UpdateSecretVariablesSuccess', name: 'variables' }
        const select = namedSelectionOf(context, info, { of })
        return { variables: await services.secretVariables.update(actor, input.variables, select) }
      }),
  }),
  deleteSecretVariables: t.field({
    type: deletionResult.union,
    description:
      'Deletes secret variables of the account, all or none: if a name is unknown, `NotFoundError` lists it and no variable is deleted. Existing instances keep the variables.',
    requires: 'secretVariables.delete',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: DeleteSecretVariablesInput,
        required: true,
        description: 'The secret variables to delete.',
      }),
    },
    resolve: (_root, { input: { names } }, { services, actor }) =>
      deletionResult.answer({}, async () => ({ deletedNames: await services.secretVariables.delete(actor, names) })),
  }),
}))
