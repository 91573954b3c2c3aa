import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { parsePolicyInput, policyFields } from './policy.ts'
import { InstanceSuccess } from './update.ts'

const SetInstancePolicyInput = builder.inputType('SetInstancePolicyInput', {
  description: 'Which instance, and what is to happen to it by itself. What is absent stays, and null takes it away.',
  fields: t => ({
    instanceId: t.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
    ...policyFields(t),
  }),
})

const { union: SetInstancePolicyResult, answer } = resultUnion(
  'SetInstancePolicyResult',
  'The instance, or why what is arranged for it stays.',
  InstanceSuccess,
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
)

builder.mutationField('setInstancePolicy', t =>
  t.field({
    type: SetInstancePolicyResult,
    description: `Arranges when an instance is stopped or destroyed by itself. What has come already is refused: an instant that is past, a cost that it has had, a time for which it has been stopped. ${permissionSentence('instances.setPolicy')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SetInstancePolicyInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      answer({}, async () => {
        const { instanceId, ...policy } = input
        const id = parseId('Instance', instanceId, 'instanceId')
        return { instance: await services.instances.setPolicy(actor, id, parsePolicyInput(policy)) }
      }),
  }),
)
