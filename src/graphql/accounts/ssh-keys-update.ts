import { maxSshKeyNameLength, maxSshKeys, type SshKey as SshKeyShape } from '../../domain/accounts/ssh-keys.ts'
import { notFound } from '../../domain/errors.ts'
import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { DeleteSuccess } from '../inputs/deletion.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { instanceResult } from '../instances/update.ts'
import { permissionSentence } from '../permission.ts'
import { SshKey } from './ssh-keys.ts'

const RegisterSshKeyInput = builder.inputType('RegisterSshKeyInput', {
  description: 'A public key, what it is called, and where it logs in at once.',
  fields: t => ({
    name: t.string({
      description: `What you call it, at most ${maxSshKeyNameLength} characters. The comment of the key when absent.`,
    }),
    publicKey: t.string({
      required: true,
      description: 'The line in the file that ends in `.pub`: `ssh-ed25519 AAAA… comment`. Never a private key.',
    }),
    instanceIds: t.idList({
      required: true,
      defaultValue: [],
      description: `Containers that it logs in to from now on, at most ${maxIdsPerCommand}. Instances that are rented later get it anyway, but for containers in args mode.`,
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const ReplaceSshKeyInput = builder.inputType('ReplaceSshKeyInput', {
  description: 'Which SSH key is replaced, and by which.',
  fields: t => ({
    id: t.id({ required: true, description: 'Such as `ssh_42`, or `42`.' }),
    publicKey: t.string({ required: true, description: 'The new line: `ssh-ed25519 AAAA… comment`.' }),
  }),
})

const DeleteSshKeyInput = builder.inputType('DeleteSshKeyInput', {
  description: 'Which SSH key is deleted.',
  fields: t => ({ id: t.id({ required: true, description: 'Such as `ssh_42`, or `42`.' }) }),
})

const attachmentFields = {
  instanceId: { required: true, description: 'Such as `ins_42`, or `42`.' },
  sshKeyId: { required: true, description: 'Such as `ssh_42`, or `42`.' },
} as const

const AttachSshKeyInput = builder.inputType('AttachSshKeyInput', {
  description: 'Which SSH key is to log in to which container.',
  fields: t => ({ instanceId: t.id(attachmentFields.instanceId), sshKeyId: t.id(attachmentFields.sshKeyId) }),
})

const DetachSshKeyInput = builder.inputType('DetachSshKeyInput', {
  description: 'Which SSH key is to log in no more to which container.',
  fields: t => ({ instanceId: t.id(attachmentFields.instanceId), sshKeyId: t.id(attachmentFields.sshKeyId) }),
})

const RegisterSshKeySuccess = builder
  .objectRef<{ sshKey: SshKeyShape; replayed: boolean }>('RegisterSshKeySuccess')
  .implement({
    description: 'The SSH key was registered.',
    fields: t => ({
      sshKey: t.expose('sshKey', { type: SshKey, description: 'The key.' }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  })

const registerResult = resultUnion('RegisterSshKeyResult', 'An SSH key, or why there is none.', RegisterSshKeySuccess, [
  'INVALID_INPUT',
  'CONFLICT',
  'NOT_FOUND',
  'INVALID_STATE',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
])

const ReplaceSshKeySuccess = builder.objectRef<{ sshKey: SshKeyShape }>('ReplaceSshKeySuccess').implement({
  description: 'The SSH key was replaced.',
  fields: t => ({ sshKey: t.expose('sshKey', { type: SshKey, description: 'What it is now.' }) }),
})

const replaceResult = resultUnion('ReplaceSshKeyResult', 'An SSH key, or why it is as it was.', ReplaceSshKeySuccess, [
  'INVALID_INPUT',
  'CONFLICT',
  'NOT_FOUND',
])

const deleteResult = resultUnion('DeleteSshKeyResult', 'What was deleted, or why nothing was.', DeleteSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])

builder.mutationFields(t => ({
  registerSshKey: t.field({
    type: registerResult.union,
    description: `Adds a public SSH key to the account, which has at most ${maxSshKeys}. ${permissionSentence('sshKeys.register')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RegisterSshKeyInput, required: true, description: 'The key.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      registerResult.answer({}, async () => {
        const { publicKey, idempotencyKey, name } = input
        const instanceIds = input.instanceIds.map((id, index) => parseId('Instance', id, `instanceIds.${index}`))
        const newKey = { name: name ?? undefined, publicKey, instanceIds, idempotencyKey }
        return await services.sshKeys.register(actor, newKey)
      }),
  }),
  replaceSshKey: t.field({
    type: replaceResult.union,
    description: `Puts another public key in place of one, which keeps its id: containers let the new one in from now on, and the old one no more. A virtual machine keeps the old one. ${permissionSentence('sshKeys.replace')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: ReplaceSshKeyInput, required: true, description: 'Which, and by which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      replaceResult.answer({}, async () => {
        const id = Number(parseId('SshKey', input.id))
        return { sshKey: await services.sshKeys.replace(actor, id, input.publicKey) }
      }),
  }),
  deleteSshKey: t.field({
    type: deleteResult.union,
    description: `Deletes an SSH key of the account, and takes it out of its containers. A virtual machine keeps it. ${permissionSentence('sshKeys.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteSshKeyInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        const id = Number(parseId('SshKey', input.id))
        await services.sshKeys.delete(actor, id)
        return { type: 'SshKey' as const, deletedId: id }
      }),
  }),
  attachSshKey: t.field({
    type: instanceResult.union,
    description: `Lets an SSH key log in to a container, also while that runs. A virtual machine keeps the keys that it was made with, and a container in args mode has no SSH server: both are refused. ${permissionSentence('instances.attachSshKey')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: AttachSshKeyInput, required: true, description: 'Which, and where.' }) },
    resolve: (_root, { input }, context) =>
      instanceResult.answer({}, async () => {
        const { instanceId, sshKeyId } = parseAttachment(input)
        await context.services.sshKeys.attach(context.actor, instanceId, sshKeyId)
        return await reloadInstance(context, instanceId, 'instances.attachSshKey')
      }),
  }),
  detachSshKey: t.field({
    type: instanceResult.union,
    description: `Lets an SSH key log in to a container no more. Who is logged in stays so. ${permissionSentence('instances.detachSshKey')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DetachSshKeyInput, required: true, description: 'Which, and where.' }) },
    resolve: (_root, { input }, context) =>
      instanceResult.answer({}, async () => {
        const { instanceId, sshKeyId } = parseAttachment(input)
        await context.services.sshKeys.detach(context.actor, instanceId, sshKeyId)
        return await reloadInstance(context, instanceId, 'instances.detachSshKey')
      }),
  }),
}))

function parseAttachment({ instanceId, sshKeyId }: { instanceId: string; sshKeyId: string }) {
  return {
    instanceId: parseId('Instance', instanceId, 'instanceId'),
    sshKeyId: Number(parseId('SshKey', sshKeyId, 'sshKeyId')),
  }
}

async function reloadInstance(
  context: Context,
  id: bigint,
  operation: 'instances.attachSshKey' | 'instances.detachSshKey',
): Promise<{ instance: InstanceShape }> {
  const [instance] = await context.services.instances.byIds(context.actor, [id], operation)
  if (!instance) throw notFound('Instance', id)
  return { instance }
}
