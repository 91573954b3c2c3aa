import { type Operation, operationCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import { operationNames } from '../../../src/graphql/accounts/operation-names.ts'
import type { TestApp } from '../app.ts'

/** The GraphQL code of each REST error. */
export const graphqlCodes: Record<string, string> = {
  auth_error: 'UNAUTHENTICATED',
  forbidden: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  no_such_instance: 'NOT_FOUND',
  invalid_args: 'INVALID_INPUT',
  no_such_ask: 'OFFER_UNAVAILABLE',
  invalid_price: 'BID_TOO_LOW',
  insufficient_credit: 'INSUFFICIENT_CREDIT',
  spend_limit_exceeded: 'SPEND_LIMIT_EXCEEDED',
  quota_exceeded: 'QUOTA_EXCEEDED',
  start_backoff: 'START_BACKOFF',
  no_ssh_key_for_vm: 'SSH_KEY_REQUIRED',
  invalid_state: 'INVALID_STATE',
}

/** The code in GraphQL of a failure over REST, which answers for a destroyed instance as for an unknown one. */
export function graphqlCodeOf({ error, msg }: { error: string; msg: string }): string | undefined {
  return error === 'no_such_instance' && msg.includes('is destroyed') ? 'INVALID_STATE' : graphqlCodes[error]
}

/** A message of GraphQL with its ids and permissions as REST prints them. */
export function bareIds(message: string): string {
  return message
    .replace(/\b(?:ins|key|mch|off|vol|vof|tpl|ssh)_(?=\d)/g, '')
    .replace(/the permission (\w+) of the category \w+/, (text, name) => {
      const operation = operations.find(one => operationNames[one] === name)
      return operation ? `the permission ${operationCategories[operation]} for ${operation}` : text
    })
}

const operations = Object.keys(operationCategories) as Operation[]

/** The issue messages in a REST error text, without the field names, which differ between the faces. */
export function messagesOf(msg: string): string[] {
  return msg
    .split(/(?:^| )[a-z_][\w.]*: /i)
    .filter(text => text !== '')
    .toSorted()
}

const refusal = '... on Error { code message } ... on InvalidInputError { issues { path message } }'
const items = (success: string) =>
  `... on ${success} { succeededCount items { instanceId outcome error { code } } } ${refusal}`
const one = (success: string) => `... on ${success} { instance { id } } ${refusal}`
const mutations = {
  rentInstance: `... on RentInstanceSuccess { instance { id } } ${refusal}`,
  startInstance: one('StartInstanceSuccess'),
  stopInstance: one('StopInstanceSuccess'),
  updateInstance: one('UpdateInstanceSuccess'),
  startInstances: items('StartInstancesSuccess'),
  stopInstances: items('StopInstancesSuccess'),
  updateInstances: items('UpdateInstancesSuccess'),
  destroyInstances: items('DestroyInstancesSuccess'),
  rebootInstance: one('RebootInstanceSuccess'),
  recycleInstance: one('RecycleInstanceSuccess'),
  updateInstanceBid: `... on UpdateInstanceBidSuccess { instance { id } } ${refusal}`,
}

type UpdateInput = {
  id?: string | undefined
  ids?: string[]
  targetState?: string | null
  label?: string
  dryRun?: boolean
  errorPolicy?: string
}

export type Faces = {
  /** The result of a mutation. A refusal has `code` and `message`, whether it came as a value or as an error. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the mutation
  mutate: (key: string | undefined, field: keyof typeof mutations, input: object) => Promise<any>
  /**
   * The mutations that together do what one REST update does: to a state, to a label or to both. Ends at the first refusal.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the mutation
  update: (key: string | undefined, input: UpdateInput) => Promise<any>
  /** Every fact of an instance that must be equal after equal requests. */
  readInstance: (id: number | string) => Promise<Record<string, unknown>>
}

export function facesOf(app: TestApp): Faces {
  const faces: Faces = {
    async update(key, { id, ids, targetState, label, ...options }) {
      const input = { ...(ids ? { target: { ids } } : { id }), ...options }
      const noun = ids ? 'Instances' : 'Instance'
      let answer: { code?: string } = {}
      if (targetState) answer = await faces.mutate(key, `${targetState === 'RUNNING' ? 'start' : 'stop'}${noun}`, input)
      if (answer.code || (targetState && label === undefined)) return answer
      return await faces.mutate(key, `update${noun}`, {
        ...input,
        ...(label !== undefined && { label: label || null }),
      })
    },
    async mutate(key, field, input) {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`
      const query = `mutation ($input: ${type}!) { ${field}(input: $input) { ${mutations[field]} } }`
      const { data, errors } = await app.graphql(key, query, { input })
      return errors ? { code: errors[0]?.extensions['code'], message: errors[0]?.message } : data[field]
    },
    async readInstance(id) {
      const [row] = await app.sql(`
        SELECT launch, label, disk_mb, vm, interruptible, gpu_price_nanos, disk_nanos, target_state, status, reason_code,
          destroyed_at, restart, registry_login IS NOT NULL AS has_login,
          (SELECT json_agg(json_build_array(host_port, container_port, protocol) ORDER BY host_port)
            FROM port_bindings b WHERE b.instance_id = i.id) AS ports,
          (SELECT count(*) FROM gpus g WHERE g.holder_id = i.id) AS gpus,
          (SELECT json_agg(json_build_array(e.kind, e.reason) ORDER BY e.kind, e.id)
            FROM events e WHERE e.instance_id = i.id) AS events
        FROM instances i WHERE id = ${String(id).replace('ins_', '')}`)
      return row as Record<string, unknown>
    },
  }
  return faces
}
