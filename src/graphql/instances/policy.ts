import type { Instance } from '../../domain/instances/instances.ts'
import type { PolicyInput } from '../../domain/instances/policy/change.ts'
import type { Policy } from '../../domain/instances/policy/policy.ts'
import { printWithin } from '../../domain/instances/policy/replacement.ts'
import { builder } from '../builder.ts'

const descriptions = {
  stopAt: 'When to stop the instance. Cleared when that time comes, so a later start is not affected.',
  stopAtCost:
    'Limit on the total cost of GPUs and disk since the rental began, in US dollars. The instance is stopped when it reaches the limit, and cannot start until the limit is raised or removed. Its disk costs money even while it is stopped.',
  destroyAt: 'When to destroy the instance with its disk.',
  destroyAfterStoppedSeconds:
    'Destroy the instance with its disk after it has been stopped for this many seconds without a break, at most 10 years. Counted from when the instance stopped or exited.',
  stopWhenIdle:
    'Stop the instance once all of its GPUs were idle for some time. Its GPUs are measured every 15 seconds. An instance whose machine does not say how busy each GPU is, is never stopped by this.',
}

/** What is read of an instance for its policy. */
export const policySelect = {
  stopAt: true,
  stopAtCostNanos: true,
  destroyAt: true,
  destroyStoppedMs: true,
  idleGpuPercent: true,
  idleSeconds: true,
  replaceSeconds: true,
  replaceAttempts: true,
} as const

const unset = 'Null if it is not set.'

const idleDescriptions = {
  gpuBelowPercent: 'A GPU is idle while it is busy for less than this percent of the time, 1 to 100.',
  forSeconds:
    'How long all GPUs must be idle without a break while the instance runs, in seconds, 60 to 2592000 (30 days).',
}

const IdlePolicy = builder.objectRef<{ gpuPercent: number; seconds: number }>('IdlePolicy').implement({
  description: 'When an instance counts as idle, so that it is stopped.',
  fields: t => ({
    gpuBelowPercent: t.exposeInt('gpuPercent', { description: idleDescriptions.gpuBelowPercent }),
    forSeconds: t.exposeInt('seconds', { description: idleDescriptions.forSeconds }),
  }),
})

const IdlePolicyInput = builder.inputType('IdlePolicyInput', {
  description: 'When an instance counts as idle, so that it is stopped.',
  fields: t => ({
    gpuBelowPercent: t.int({ required: true, description: idleDescriptions.gpuBelowPercent }),
    forSeconds: t.int({ required: true, description: idleDescriptions.forSeconds }),
  }),
})

type Replacing = Pick<Instance, 'replaceSeconds' | 'replaceAttempts'>

const ReplacePolicy = builder.objectRef<{ within: string; attemptsLeft: number }>('ReplacePolicy').implement({
  description: 'When an instance that does not run is replaced.',
  fields: t => ({
    within: t.exposeString('within', { description: 'How long it may take until it runs, such as `10m`.' }),
    attemptsLeft: t.exposeInt('attemptsLeft', { description: 'How many more instances may be rented in its place.' }),
  }),
})

export const InstancePolicy = builder.objectRef<Policy & Replacing>('InstancePolicy').implement({
  description:
    'When the gateway stops or destroys an instance automatically. Null fields do nothing. Charges end at the scheduled instant, even if the gateway acts late.',
  fields: t => ({
    stopAt: t.expose('stopAt', { type: 'DateTime', nullable: true, description: `${descriptions.stopAt} ${unset}` }),
    stopAtCost: t.expose('stopAtCostNanos', {
      type: 'Usd',
      nullable: true,
      description: `${descriptions.stopAtCost} ${unset}`,
    }),
    destroyAt: t.expose('destroyAt', {
      type: 'DateTime',
      nullable: true,
      description: `${descriptions.destroyAt} ${unset}`,
    }),
    destroyAfterStoppedSeconds: t.int({
      nullable: true,
      description: `${descriptions.destroyAfterStoppedSeconds} ${unset}`,
      resolve: ({ destroyStoppedMs }) => (destroyStoppedMs === null ? null : Number(destroyStoppedMs) / 1000),
    }),
    stopWhenIdle: t.field({
      type: IdlePolicy,
      nullable: true,
      description: `${descriptions.stopWhenIdle} ${unset}`,
      resolve: ({ idleGpuPercent: gpuPercent, idleSeconds: seconds }) =>
        gpuPercent === null || seconds === null ? null : { gpuPercent, seconds },
    }),
    replace: t.field({
      type: ReplacePolicy,
      nullable: true,
      description: `Rent another instance in place of this one if it does not run in time. Only \`rentBestOffer\` can set it. It ends once the instance has run. ${unset}`,
      resolve: ({ replaceSeconds, replaceAttempts: attemptsLeft }) =>
        replaceSeconds === null || attemptsLeft === null ? null : { within: printWithin(replaceSeconds), attemptsLeft },
    }),
  }),
})

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

/** `absent` says what an absent field means, and null. */
export const policyFields = (t: InputFields, absent: string) => ({
  stopAt: t.field({ type: 'DateTime', description: `${descriptions.stopAt} ${absent}` }),
  stopAtCost: t.field({ type: 'Usd', description: `${descriptions.stopAtCost} ${absent}` }),
  destroyAt: t.field({ type: 'DateTime', description: `${descriptions.destroyAt} ${absent}` }),
  destroyAfterStoppedSeconds: t.int({ description: `${descriptions.destroyAfterStoppedSeconds} ${absent}` }),
  stopWhenIdle: t.field({ type: IdlePolicyInput, description: `${descriptions.stopWhenIdle} ${absent}` }),
})

export const InstancePolicyInput = builder.inputType('InstancePolicyInput', {
  description: 'When the gateway stops or destroys a new instance automatically. Null and absent fields do nothing.',
  fields: t => policyFields(t, 'Never if absent or null.'),
})

export function parsePolicyInput({
  stopAt,
  stopAtCost,
  destroyAt,
  destroyAfterStoppedSeconds,
  stopWhenIdle,
}: typeof InstancePolicyInput.$inferInput): PolicyInput {
  return {
    ...{ stopAt, stopAtCostNanos: stopAtCost, destroyAt, destroyStoppedSeconds: destroyAfterStoppedSeconds },
    stopWhenIdle: stopWhenIdle && { gpuPercent: stopWhenIdle.gpuBelowPercent, seconds: stopWhenIdle.forSeconds },
  }
}

/** The policy of a new instance. A null means the same as an absent field, because there is nothing to remove. */
export function parseNewPolicyInput(input: typeof InstancePolicyInput.$inferInput | null | undefined) {
  const given = Object.entries(parsePolicyInput(input ?? {})).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  // Removing nulls leaves the same fields, which TypeScript cannot infer.
  return given.length > 0 ? (Object.fromEntries(given) as PolicyInput) : undefined
}
