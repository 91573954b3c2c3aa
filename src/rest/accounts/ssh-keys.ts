import { z } from 'zod'
import type { DomainError } from '../../domain/errors.ts'
import { renameIssuePaths } from '../../domain/errors.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { okResult } from '../results.ts'
import { rewordRefusals } from '../rewording.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { pathId, text } from '../values.ts'
import { sshKeyRow, sshKeyRowSchema, sshKeySelect } from './ssh-keys-row.ts'

const path = '/api/v0/ssh/{id}/'
const params = z.object({ id: pathId('ID of the SSH key.') })
const body = z.object({ ssh_key: text('Public key: one line of a .pub file. Never send a private key.') })
const savedKeyResult = z.object({
  success: z.literal(true).describe('Always true.'),
  key: sshKeyRowSchema.describe('The saved key.'),
})

const duplicate: DocumentedFailure = {
  status: 400,
  error: 'duplicate',
  when: 'The SSH key already exists on this account',
}
const noSuchKey: DocumentedFailure = documentedFailureOf('NOT_FOUND', 'The SSH key does not exist on this account')

export const sshKeyFieldNames = { publicKey: 'ssh_key' }

function restFailureOf({ code, details }: DomainError): [number, string, string] | undefined {
  if (code === 'NOT_FOUND' && details.subject?.type === 'SshKey') return [404, 'not_found', noSuchKey.when]
  return code === 'CONFLICT' && details.subject ? [400, 'duplicate', duplicate.when] : undefined
}

/** Rewrites the refusals of a key change in the field names and wording of REST. */
async function withRestFailures<Result>(change: Promise<Result>): Promise<Result> {
  return await rewordRefusals(
    change.catch((error: unknown) => Promise.reject(renameIssuePaths(error, sshKeyFieldNames))),
    restFailureOf,
  )
}

export const sshKeyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/ssh/',
    operationId: 'listSshKeys',
    tag: 'Keys',
    summary: 'List the SSH keys',
    about: "Lists the account's SSH keys, oldest first.",
    operation: 'sshKeys.list',
    result: z.array(sshKeyRowSchema),
    answer: async ({ services, actor }) => {
      const keys = await services.sshKeys.list(actor, sshKeySelect)
      return keys.map(key => sshKeyRow(actor, key))
    },
  }),
  route({
    method: 'POST',
    path: '/api/v0/ssh/',
    operationId: 'registerSshKey',
    tag: 'Keys',
    summary: 'Register an SSH key',
    about:
      'Registers a public key for instances that are rented from now on. Add it to an existing instance to log in there.',
    operation: 'sshKeys.register',
    body,
    notIdempotent: true,
    example: { body: { ssh_key: 'ssh-ed25519 AAAAC3Nza… me@laptop' } },
    result: savedKeyResult,
    failures: [duplicate, documentedFailureOf('CONFLICT', 'The account has the maximum number of keys.')],
    answer: async ({ services, actor, body: { ssh_key: publicKey } }) => {
      const { sshKey } = await withRestFailures(services.sshKeys.create(actor, { publicKey }, sshKeySelect))
      return { success: true as const, key: sshKeyRow(actor, sshKey) }
    },
  }),
  route({
    method: 'PUT',
    path,
    operationId: 'replaceSshKey',
    tag: 'Keys',
    summary: 'Replace an SSH key',
    about:
      'Replaces an SSH key. Containers accept the new key and no longer the old one. A virtual machine keeps the old key.',
    operation: 'sshKeys.replace',
    params,
    body,
    example: { body: { ssh_key: 'ssh-ed25519 AAAAC3Nza… me@desktop' } },
    result: savedKeyResult,
    failures: [duplicate, noSuchKey],
    answer: async ({ services, actor, params: { id }, body: { ssh_key: publicKey } }) => {
      const sshKey = await withRestFailures(
        services.sshKeys.update(actor, Number(id), { publicKey, takesComment: true }, sshKeySelect),
      )
      return { success: true as const, key: sshKeyRow(actor, sshKey) }
    },
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'deleteSshKey',
    tag: 'Keys',
    summary: 'Delete an SSH key',
    about: 'Deletes an SSH key and removes it from all containers. A virtual machine keeps the key.',
    operation: 'sshKeys.delete',
    params,
    result: okResult,
    failures: [noSuchKey],
    answer: async ({ services, actor, params: { id } }) => {
      await withRestFailures(services.sshKeys.delete(actor, Number(id)))
      return { success: true as const }
    },
  }),
]
