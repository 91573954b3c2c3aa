import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { sshKeyFieldNames } from '../accounts/ssh-keys.ts'
import { sshKeyRow, sshKeySelect } from '../accounts/ssh-keys-row.ts'
import { documentedFailureOf, restErrors } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { messageResult } from '../results.ts'
import { rewordRefusals } from '../rewording.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { pathId, text } from '../values.ts'
import { noSuchInstance } from './responses.ts'

const path = '/api/v0/instances/{id}/ssh/'
const params = z.object({ id: pathId('ID of the instance.') })
const success = z.literal(true).describe('Always true.')
const noSshKeyAccess: DocumentedFailure = {
  ...restErrors.INVALID_STATE,
  when: 'The SSH keys of the instance cannot change: it is a virtual machine, has the launch mode args, or can never run again.',
}

/** Clients expect this form, though nothing failed: the instance already has the key. */
const alreadyAssociated = {
  success: false as const,
  error: 'already_associated' as const,
  msg: 'SSH key already associated with instance.',
}

export const instanceSshKeyRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    operationId: 'listInstanceSshKeys',
    tag: 'Instances',
    summary: 'List the SSH keys of an instance',
    about: 'Lists the SSH keys that can log in to an instance.',
    operation: 'instances.get',
    params,
    result: z.object({ success, ssh_keys: text('List of SSH keys as a JSON string.') }),
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      await services.instances.findLiving(actor, id)
      const [found] = await services.sshKeys.byInstanceIds(actor, [id], sshKeySelect)
      const rows = found?.sshKeys.map(key => sshKeyRow(actor, key))
      return { success: true as const, ssh_keys: JSON.stringify(rows ?? []) }
    },
  }),
  route({
    method: 'POST',
    path,
    operationId: 'addInstanceSshKey',
    tag: 'Instances',
    summary: 'Add an SSH key to an instance',
    about:
      'Lets a key log in to a container, running or not. A key that is new to the account is registered as well, which needs user_write (sshKeys.register).',
    operation: 'instances.attachSshKey',
    params,
    body: z.object({ ssh_key: text('Public key: one line of a .pub file.').optional() }),
    example: { body: { ssh_key: 'ssh-ed25519 AAAAC3Nza… me@laptop' }, answer: { msg: 'SSH key added to instance.' } },
    result: z.union([
      z.object({ success, msg: text('Message that the key was added.'), key: text('The key as a JSON string.') }),
      z.object({
        success: z.literal(false).describe('Always false.'),
        error: z.literal('already_associated').describe('The instance already had the key.'),
        msg: text('Message that the instance already had the key.'),
      }),
    ]),
    failures: [
      noSuchInstance,
      { status: 400, error: 'no_ssh_key', when: 'No ssh key provided to add to instance.' },
      documentedFailureOf('CONFLICT', 'The account has the maximum number of keys.'),
      documentedFailureOf('NOT_FOUND', 'The key was deleted during the request.'),
      noSshKeyAccess,
    ],
    answer: async ({ services, actor, params: { id }, body: { ssh_key: publicKey = '' } }) => {
      const attaching = services.sshKeys.attachByPublicKey(actor, id, publicKey, sshKeySelect)
      const { sshKey, outcome } = await rewordRefusals(
        attaching.catch((error: unknown) => Promise.reject(renameIssuePaths(error, sshKeyFieldNames))),
        ({ code }) =>
          code === 'INVALID_INPUT' && publicKey === ''
            ? [400, 'no_ssh_key', 'No ssh key provided to add to instance.']
            : undefined,
      )
      if (outcome === 'unchanged') return alreadyAssociated
      const key = JSON.stringify(sshKeyRow(actor, sshKey))
      return { success: true as const, msg: 'SSH key added to instance.', key }
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}{key}/`,
    operationId: 'removeInstanceSshKey',
    tag: 'Instances',
    summary: 'Remove an SSH key from an instance',
    about: 'The key can no longer log in to the container. Open sessions continue.',
    operation: 'instances.detachSshKey',
    params: params.extend({ key: pathId('ID of the SSH key.') }),
    example: { answer: { msg: 'SSH key removed from instance.' } },
    result: messageResult,
    failures: [
      noSuchInstance,
      {
        status: 404,
        error: 'no_such_ssh_key',
        when: 'The account does not have the key, or the instance does not have it.',
      },
      noSshKeyAccess,
    ],
    answer: async ({ services, actor, params: { id, key } }) => {
      const missing: [number, string, string] = [404, 'no_such_ssh_key', 'SSH key not found.']
      const outcome = await rewordRefusals(services.sshKeys.detach(actor, id, Number(key)), ({ code, details }) =>
        code === 'NOT_FOUND' && details.subject?.type === 'SshKey' ? missing : undefined,
      )
      if (outcome === 'unchanged') throw new RestFailure(...missing)
      return { success: true as const, msg: 'SSH key removed from instance.' }
    },
  }),
]
