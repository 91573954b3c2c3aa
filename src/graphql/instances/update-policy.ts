import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { parsePolicyInput, policyFields } from './policy.ts'
import { instanceResult } from './result.ts'

const UpdateInstancePolicyInput = builder.inputType('UpdateInstancePolicyInput', {
  description: 'An instance and the changes to its policy. An absent field stays as it is; null removes it.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
    ...policyFields(t, 'If absent, it stays; null removes it.'),
  }),
})

const { union, answer } = instanceResult(
  'updateInstancePolicy',
  'The instance, or the error that kept its old policy.',
  'The instance has the policy.',
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
)

builder.mutationField('updateInstancePolicy', t =>
  t.field({
    type: union,
    description:
      'Sets when the gateway stops or destroys an instance automatically. A new value that is already reached is refused: a past instant, a cost already spent, or a time already stopped.',
    requires: 'instances.setPolicy',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: UpdateInstancePolicyInput,
        required: true,
        description: 'The instance and the changes to its policy.',
      }),
    },
    resolve: (_root, { input }, { services, actor }) =>
      answer({}, async () => {
        const { id, ...policy } = input
        return {
          instance: await services.instances.updatePolicy(actor, parseId('Instance', id), parsePolicyInput(policy)),
        }
      }),
  }),
)
