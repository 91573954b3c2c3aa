import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import type { PolicyInput } from '../../domain/instances/policy/change.ts'
import { builder } from '../builder.ts'

const descriptions = {
  stopAt: 'When it is stopped. That is done with then, so who starts it afterwards has it run.',
  stopAtCost:
    'It is stopped before it has cost more than this in all, GPUs and disk, since it was rented. It cannot start again until this is raised or taken away. Its disk goes on costing.',
  destroyAt: 'When it is destroyed, with its disk.',
  destroyWhenStoppedFor:
    'It is destroyed, with its disk, when it was stopped for so long at a stretch: whole seconds, counted from when it stopped or ended by itself.',
}

export const InstancePolicy = builder.objectRef<InstanceShape>('InstancePolicy').implement({
  description:
    'What is arranged for an instance, and happens by itself. Nothing is charged for later than that, also when it is done late.',
  fields: t => ({
    stopAt: t.expose('stopAt', { type: 'DateTime', nullable: true, description: descriptions.stopAt }),
    stopAtCost: t.expose('stopAtCostNanos', { type: 'Usd', nullable: true, description: descriptions.stopAtCost }),
    destroyAt: t.expose('destroyAt', { type: 'DateTime', nullable: true, description: descriptions.destroyAt }),
    destroyWhenStoppedFor: t.int({
      nullable: true,
      description: descriptions.destroyWhenStoppedFor,
      resolve: ({ destroyStoppedMs }) => (destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1000),
    }),
  }),
})

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

export const policyFields = (t: InputFields) => ({
  stopAt: t.field({ type: 'DateTime', description: descriptions.stopAt }),
  stopAtCost: t.field({ type: 'Usd', description: descriptions.stopAtCost }),
  destroyAt: t.field({ type: 'DateTime', description: descriptions.destroyAt }),
  destroyWhenStoppedFor: t.int({ description: descriptions.destroyWhenStoppedFor }),
})

export const InstancePolicyInput = builder.inputType('InstancePolicyInput', {
  description: 'What is to happen to an instance by itself.',
  fields: policyFields,
})

export function parsePolicyInput({
  stopAt,
  stopAtCost,
  destroyAt,
  destroyWhenStoppedFor,
}: typeof InstancePolicyInput.$inferInput): PolicyInput {
  return { stopAt, stopAtCostNanos: stopAtCost, destroyAt, destroyStoppedSeconds: destroyWhenStoppedFor }
}

/** For what is rented: nothing is arranged yet that could be taken away. */
export function parseNewPolicyInput(input: typeof InstancePolicyInput.$inferInput | null | undefined) {
  const wished = Object.entries(parsePolicyInput(input ?? {})).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  // Without nulls it is a wish of the same fields.
  return wished.length > 0 ? (Object.fromEntries(wished) as PolicyInput) : undefined
}
