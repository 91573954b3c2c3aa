import { maxSshKeyNameLength, maxSshKeys } from '../../domain/accounts/ssh-keys.ts'
import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { instanceResult } from '../instances/result.ts'
import { blankNameIssues, idempotencyKey, refuseNull, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { SshKey } from './ssh-keys.ts'

const CreateSshKeyInput = builder.inputType('CreateSshKeyInput', {
  description: 'A public SSH key to add to the account, with its name and the containers that accept it at once.',
  fields: t => ({
    name: t.string({
      description: `Name of the SSH key, 1-${maxSshKeyNameLength} characters, not blank. Defaults to the comment in the key, or else to its ID.`,
    }),
    publicKey: t.string({
      required: true,
      description:
        'The public key: the line in the `.pub` file, `ssh-ed25519 AAAA… comment`. Never send a private key.',
    }),
    instanceIds: t.idList({
      required: true,
      defaultValue: [],
      description: `IDs of existing containers to add the key to, such as \`ins_42\` or \`42\`, at most ${maxIdsPerCommand}. Instances rented later get the key anyway, except containers in \`args\` mode. Defaults to none.`,
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const UpdateSshKeyInput = builder.inputType('UpdateSshKeyInput', {
  description: 'Changes to an SSH key. Absent fields stay as they are.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the SSH key to change, such as `ssh_42` or `42`.' }),
    name: t.string({
      description: `Name of the SSH key, 1-${maxSshKeyNameLength} characters, not blank. If absent, it stays, whatever the comment of a new public key says. Null removes it: the key is called by its ID.`,
    }),
    publicKey: t.string({
      description: 'The new public key: `ssh-ed25519 AAAA… comment`. If absent, it stays; null is refused.',
    }),
  }),
})

const DeleteSshKeyInput = builder.inputType('DeleteSshKeyInput', {
  description: 'The SSH key to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the SSH key, such as `ssh_42` or `42`.' }) }),
})

const attachmentFields = {
  id: { required: true, description: 'ID of the instance, such as `ins_42` or `42`.' },
  sshKeyId: { required: true, description: 'ID of the SSH key, such as `ssh_42` or `42`.' },
} as const

const AttachSshKeyInput = builder.inputType('AttachSshKeyInput', {
  description: 'The SSH key, and the container to attach it to.',
  fields: t => ({ id: t.id(attachmentFields.id), sshKeyId: t.id(attachmentFields.sshKeyId) }),
})

const DetachSshKeyInput = builder.inputType('DetachSshKeyInput', {
  description: 'The SSH key, and the container to detach it from.',
  fields: t => ({ id: t.id(attachmentFields.id), sshKeyId: t.id(attachmentFields.sshKeyId) }),
})

const createResult = mutationResult<{ sshKey: { id: number }; replayed: boolean }>('createSshKey', {
  description: 'The new SSH key, or why it was not added.',
  success: {
    description: 'The SSH key was added to the account.',
    fields: t => ({
      sshKey: t.expose('sshKey', {
        type: SshKey,
        description: 'The new SSH key. A replayed answer shows it as it is now.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: [
    ...(['INVALID_INPUT', 'CONFLICT', 'NOT_FOUND', 'INVALID_STATE'] as const),
    ...(['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const),
  ],
})

const updateResult = mutationResult<{ sshKey: { id: number } }>('updateSshKey', {
  description: 'The changed SSH key, or why it did not change.',
  success: {
    description: 'The SSH key has the given name and public key.',
    fields: t => ({
      sshKey: t.expose('sshKey', { type: SshKey, description: 'The SSH key after the change.' }),
    }),
  },
  errors: ['INVALID_INPUT', 'CONFLICT', 'NOT_FOUND'],
})

const deletionResult = deleteResult('SshKey', 'SSH key', ['INVALID_INPUT', 'NOT_FOUND'])

const attachResult = instanceResult(
  'attachSshKey',
  'The instance with its SSH keys, or why the key was not attached.',
  'The SSH key is attached to the instance.',
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
)
const detachResult = instanceResult(
  'detachSshKey',
  'The instance with its SSH keys, or why the key was not detached.',
  'The SSH key is detached from the instance.',
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE'],
)

builder.mutationFields(t => ({
  createSshKey: t.field({
    type: createResult.union,
    description: `Adds a public SSH key to the account. An account has at most ${maxSshKeys}.`,
    requires: 'sshKeys.register',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateSshKeyInput, required: true, description: 'The SSH key to add.' }) },
    resolve: (_root, { input }, context, info) =>
      createResult.answer({}, async () => {
        const { services, actor } = context
        const { publicKey, idempotencyKey, name } = input
        const instanceIds = input.instanceIds.map((id, index) => parseId('Instance', id, `instanceIds.${index}`))
        const select = selectionOf(context, info, { of: { type: 'CreateSshKeySuccess', name: 'sshKey' } })
        const parseIssues = blankNameIssues({ name })
        const newKey = { name: name ?? undefined, publicKey, instanceIds, idempotencyKey, parseIssues }
        return await services.sshKeys.create(actor, newKey, select)
      }),
  }),
  updateSshKey: t.field({
    type: updateResult.union,
    description:
      'Changes the name or the public key of an SSH key, which keeps its ID. Containers then accept the new public key instead of the old one. A virtual machine keeps the old one.',
    requires: 'sshKeys.replace',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: UpdateSshKeyInput,
        required: true,
        description: 'The SSH key and its changes.',
      }),
    },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer({}, async () => {
        const { services, actor } = context
        const id = Number(parseId('SshKey', input.id))
        const { publicKey } = input
        const parseIssues = [...blankNameIssues({ name: input.name }), ...refuseNull({ publicKey })]
        const name = input.name === null ? '' : input.name
        const select = selectionOf(context, info, { of: { type: 'UpdateSshKeySuccess', name: 'sshKey' } })
        const change = { name, publicKey: publicKey ?? undefined, parseIssues }
        return { sshKey: await services.sshKeys.update(actor, id, change, select) }
      }),
  }),
  deleteSshKey: t.field({
    type: deletionResult.union,
    description:
      "Deletes an SSH key of the account and removes it from the account's containers. A virtual machine keeps the key.",
    requires: 'sshKeys.delete',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteSshKeyInput, required: true, description: 'The SSH key to delete.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const id = Number(parseId('SshKey', input.id))
        await services.sshKeys.delete(actor, id)
        return { deletedId: id }
      }),
  }),
  attachSshKey: t.field({
    type: attachResult.union,
    description:
      'Adds an SSH key to a container, which may be running. Refused for a virtual machine, whose keys are fixed at the rental, and for a container in `args` mode, which has no SSH server.',
    requires: 'instances.attachSshKey',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: AttachSshKeyInput,
        required: true,
        description: 'The SSH key, and the container to attach it to.',
      }),
    },
    resolve: (_root, { input }, context) =>
      attachResult.answer({}, async () => {
        const { instanceId, sshKeyId } = parseAttachment(input)
        await context.services.sshKeys.attach(context.actor, instanceId, sshKeyId)
        return await reloadInstance(context, instanceId, 'instances.attachSshKey')
      }),
  }),
  detachSshKey: t.field({
    type: detachResult.union,
    description: 'Removes an SSH key from a container. Sessions that are already open stay open.',
    requires: 'instances.detachSshKey',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: DetachSshKeyInput,
        required: true,
        description: 'The SSH key, and the container to detach it from.',
      }),
    },
    resolve: (_root, { input }, context) =>
      detachResult.answer({}, async () => {
        const { instanceId, sshKeyId } = parseAttachment(input)
        await context.services.sshKeys.detach(context.actor, instanceId, sshKeyId)
        return await reloadInstance(context, instanceId, 'instances.detachSshKey')
      }),
  }),
}))

function parseAttachment({ id, sshKeyId }: { id: string; sshKeyId: string }) {
  return {
    instanceId: parseId('Instance', id),
    sshKeyId: Number(parseId('SshKey', sshKeyId, 'sshKeyId')),
  }
}

async function reloadInstance(
  context: Context,
  id: bigint,
  operation: 'instances.attachSshKey' | 'instances.detachSshKey',
): Promise<{ instance: InstanceShape }> {
  return { instance: await context.services.instances.find(context.actor, id, operation) }
}
