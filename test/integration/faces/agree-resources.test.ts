// Resources of an account are created, changed and refused alike over REST and GraphQL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { graphqlCodes } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let volumes: ReturnType<typeof volumesOf>

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  volumes = volumesOf(app)
})

afterAll(() => app.close())

const newKey = () => app.newKey(null, someCredit)
const refusalCodes: Record<string, string> = {
  ...graphqlCodes,
  ...{ duplicate: 'CONFLICT', conflict: 'CONFLICT', limit_reached: 'CONFLICT', 'volume in use': 'VOLUME_UNAVAILABLE' },
  ...{ 'invalid id': 'NOT_FOUND', no_such_ssh_key: 'NOT_FOUND', invalid_template: 'NOT_FOUND' },
}

/** The result of a mutation, or its code when it is refused with a value or an error. */
async function mutate(key: string, field: string, input: string): Promise<{ __typename?: string; code?: unknown }> {
  const query = `mutation { ${field}(input: { ${input} }) { __typename ... on Error { code } } }`
  const { data, errors } = await app.graphql(key, query)
  return errors ? { code: errors[0]?.extensions['code'] } : data[field]
}

type FaceRequests = { rest: [method: string, path: string, body?: object]; graphql: [field: string, input: string] }

/** Sends a request over each face from a new account and expects the same outcome. Returns the code of a refusal. */
async function expectAgreement(
  requestsOf: (own: OwnAccount) => FaceRequests | Promise<FaceRequests>,
  stateSql: string,
  prepare = noPreparation,
) {
  const outcomes: { code: unknown; rows: unknown }[] = []
  for (const face of ['rest', 'graphql'] as const) {
    const key = await newKey()
    const { body } = await app.rest(key, 'GET', '/users/current')
    const own = { key, account: body.id as number, ...(await prepare(key)) }
    const { rest, graphql } = await requestsOf(own)
    let code: unknown
    if (face === 'rest') {
      const [method, path, sent] = rest
      const answer = await app.rest(key, method, path, sent)
      code = answer.status === 200 ? undefined : (refusalCodes[answer.body.error] ?? answer.body.error)
    } else code = (await mutate(key, ...graphql)).code
    const events = await app.sql(`SELECT kind FROM events WHERE account_id = ${own.account} ORDER BY id`)
    const rows = await app.sql(stateSql.replaceAll('$account', String(own.account)))
    outcomes.push({ code, rows: [rows, events] })
  }
  expect(outcomes[0]).toEqual(outcomes[1])
  return outcomes[0]?.code
}

type OwnAccount = { key: string; account: number; id?: number; other?: number }
const noPreparation = async (_key: string): Promise<{ id?: number; other?: number }> => ({})

describe('SSH keys', () => {
  const stateSql = `SELECT name, public_key, fingerprint, deleted_at IS NULL AS there FROM ssh_keys
    WHERE account_id = $account ORDER BY id`
  const register = async (key: string, text = 'mine') => {
    const { body } = await app.rest(key, 'POST', '/ssh/', { ssh_key: aPublicKey(text) })
    return { id: body.key.id as number }
  }
  const registering = (line: string): FaceRequests => ({
    rest: ['POST', '/ssh/', { ssh_key: line }],
    graphql: ['createSshKey', `publicKey: ${JSON.stringify(line)}`],
  })

  it.each([
    ['a new key', `${aPublicKey('new')} me@home`, undefined],
    ['a key that the account has', aPublicKey('mine'), 'CONFLICT'],
    ['an incomplete key', 'ssh-ed25519 AAAA', 'INVALID_INPUT'],
  ])('are registered or refused alike: %s', async (_what, line, code) => {
    expect(await expectAgreement(() => registering(line), stateSql, register)).toBe(code)
  })

  it.each([
    ['a known id', ({ id }: OwnAccount) => id, undefined],
    ['an unknown id', () => 987_654, 'NOT_FOUND'],
  ])('are deleted or refused alike: %s', async (_which, which, code) => {
    const requests = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/ssh/${which(own)}/`],
      graphql: ['deleteSshKey', `id: "${which(own)}"`],
    })
    expect(await expectAgreement(requests, stateSql, register)).toBe(code)
  })

  it.each([
    ['by a new key', 'new', undefined],
    ['by itself', 'mine', undefined],
    ['by another key of the account', 'other', 'CONFLICT'],
  ])('are replaced or refused alike: %s', async (_by, text, code) => {
    const requests = ({ id }: OwnAccount): FaceRequests => ({
      rest: ['PUT', `/ssh/${id}/`, { ssh_key: aPublicKey(text) }],
      graphql: ['updateSshKey', `id: "${id}", publicKey: "${aPublicKey(text)}"`],
    })
    const two = async (key: string) => {
      await register(key, 'other')
      return await register(key)
    }
    expect(await expectAgreement(requests, stateSql, two)).toBe(code)
  })

  const attached = `SELECT vm, status, (SELECT count(*) FROM instance_ssh_keys a WHERE a.instance_id = i.id) AS keys
    FROM instances i WHERE account_id = $account`
  const prepare = (body: object) => async (key: string) => {
    const other = await rentals.rent(key, body, { vmsEnabled: true })
    return { ...(await register(key)), other }
  }

  it.each([
    ['a container', {}, undefined],
    ['a container in args mode', { runtype: 'args' }, 'INVALID_STATE'],
  ])('are attached or refused alike: %s', async (_what, body, code) => {
    const requests = ({ id, other }: OwnAccount): FaceRequests => ({
      rest: ['POST', `/instances/${other}/ssh/`, { ssh_key: aPublicKey('mine') }],
      graphql: ['attachSshKey', `id: "${other}", sshKeyId: "${id}"`],
    })
    expect(await expectAgreement(requests, attached, prepare(body))).toBe(code)
  })

  it('are detached alike', async () => {
    const requests = ({ id, other }: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/instances/${other}/ssh/${id}/`],
      graphql: ['detachSshKey', `id: "${other}", sshKeyId: "${id}"`],
    })
    const first = async (key: string) => ({ ...(await register(key)), other: await rentals.rent(key) })
    expect(await expectAgreement(requests, attached, first)).toBeUndefined()
  })
})

describe('API keys', () => {
  const stateSql = `SELECT name, permissions, revoked_at IS NULL AS there FROM api_keys WHERE account_id = $account ORDER BY id`

  it.each([
    ['full access', {}, ', fullAccess: true', undefined],
    ['no permissions', { permissions: { api: {} } }, ', permissions: []', undefined],
    ['one permission', { permissions: { api: { misc: {} } } }, ', permissions: [{ category: MARKET_READ }]', undefined],
  ])('are created alike with %s', async (_what, body, permissions, code) => {
    const requests: FaceRequests = {
      rest: ['POST', '/auth/apikeys/', { name: 'ci', ...body }],
      graphql: ['createApiKey', `name: "ci"${permissions}`],
    }
    expect(await expectAgreement(() => requests, stateSql)).toBe(code)
  })

  it.each([
    ['a known id', ({ id }: OwnAccount) => id, undefined],
    ['an unknown id', () => 987_654, 'NOT_FOUND'],
  ])('are revoked or refused alike: %s', async (_which, which, code) => {
    const requests = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/auth/apikeys/${which(own)}/`],
      graphql: ['deleteApiKey', `id: "${which(own)}"`],
    })
    const made = async (key: string) => ({
      id: (await app.rest(key, 'POST', '/auth/apikeys/', {})).body.id,
    })
    expect(await expectAgreement(requests, stateSql, made)).toBe(code)
  })
})

describe('templates', () => {
  const stateSql = `SELECT name, public, settings - 'written' AS settings, registry_login IS NOT NULL AS login, deleted_at IS NULL AS there
    FROM templates WHERE account_id = $account`
  const body = { name: 'T', image: 'ubuntu', runtype: 'jupyter', jup_direct: true, use_jupyter_lab: true, desc: 'D' }
  const sent = {
    ...{ ...body, jupyter_dir: '/w', env: '-e A=1 -p 80:80', onstart: 'run', recommended_disk_space: '20' },
    ...{ docker_login_repo: 'ghcr.io', docker_login_user: 'me', docker_login_pass: 'p' },
    volume_info: { mount_path: '/data', size: 10 },
  }
  const input = `name: "T", image: "ubuntu", mode: { jupyter: { direct: true, lab: true, directory: "/w" } },
    env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }], onStart: "run", diskGb: 20, description: "D",
    registry: { host: "ghcr.io", username: "me", password: "p" }, volumeHint: { mountPath: "/data", sizeGb: 10 }`

  it('are saved alike', async () => {
    const requests: FaceRequests = { rest: ['POST', '/template/', sent], graphql: ['createTemplate', input] }
    expect(await expectAgreement(() => requests, stateSql)).toBeUndefined()
  })

  it('conflict with an equal template that the other face saved', async () => {
    const key = await newKey()
    const { body: first } = await app.rest(key, 'POST', '/template/', sent)
    expect((await mutate(key, 'createTemplate', input)).code).toBe('CONFLICT')
    const { data } = await app.graphql(key, `{ template(by: { hashId: "${first.template.hash_id}" }) { id } }`)
    expect(data.template).toEqual({ id: `tpl_${first.template.id}` })
  })

  it('keep settings that only REST has, and the notation of REST, when GraphQL changes the templates', async () => {
    const key = await newKey()
    const more = { href: 'https://example.com', repo: 'me/ubuntu', readme_visible: false, tag: '22.04' }
    const { body: first } = await app.rest(key, 'POST', '/template/', { ...sent, ...more, extra_filters: { a: 1 } })
    const { id, hash_id: _, ...before } = first.template
    const save = async (fields: string) => {
      await mutate(key, 'updateTemplate', `id: "${id}", ${fields}`)
      const { body } = await app.rest(key, 'GET', `/template/?select_filters={"id":${id}}`)
      return body.templates[0]
    }
    const same = input.replace('"ubuntu"', '"ubuntu:22.04"')
    expect(await save(same.replace('"D"', '"E"'))).toMatchObject({ ...before, desc: 'E' })
    // A changed setting loses the notation in which REST wrote it.
    const { image, tag, env, href } = await save(same.replace('22.04', '24.04').replace('value: "1"', 'value: "2"'))
    expect([image, tag, env, href]).toEqual(['ubuntu:24.04', '', '-e A=2 -p 80:80', more.href])
    expect(await save('image: "ubuntu", description: null, registry: null')).toMatchObject({
      desc: '',
      href: more.href,
      docker_login_repo: '',
    })
  })

  it.each([
    ['without a name', { ...sent, name: null }, input.replace('name: "T"', 'name: ""')],
    ['with a disk that is too small', { ...sent, recommended_disk_space: 1 }, input.replace('diskGb: 20', 'diskGb: 1')],
    ['with secrets in public', { ...sent, private: false }, `${input}, public: true`],
  ])('are refused alike %s', async (_what, rest, graphql) => {
    const requests: FaceRequests = { rest: ['POST', '/template/', rest], graphql: ['createTemplate', graphql] }
    expect(await expectAgreement(() => requests, stateSql)).toBe('INVALID_INPUT')
  })

  it.each([
    ['a known id', ({ id }: OwnAccount) => id, undefined],
    ['an unknown id', () => 987_654, 'NOT_FOUND'],
  ])('are deleted or refused alike: %s', async (_which, which, code) => {
    const requests = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', '/template/', { template_id: which(own) }],
      graphql: ['deleteTemplate', `id: "${which(own)}"`],
    })
    const save = async (key: string) => ({ id: (await app.rest(key, 'POST', '/template/', sent)).body.template.id })
    expect(await expectAgreement(requests, stateSql, save)).toBe(code)
  })
})

describe('volumes', () => {
  const stateSql = `SELECT name, size_mb, disk_price_per_gb_month_nanos, disk_nanos, deleted_at IS NULL AS there FROM volumes WHERE account_id = $account`
  const onMachine = async () => ({ other: await volumes.newMachine() })

  it.each([
    ['with a valid size and name', { size: 20, name: 'v' }, 'sizeGb: 20, name: "v"', undefined],
    ['too small', { size: 0.5 }, 'sizeGb: 0.5', 'INVALID_INPUT'],
    ['too large', { size: 100_000 }, 'sizeGb: 100000', 'INVALID_INPUT'],
    ['with an invalid name', { size: 20, name: 'a b' }, 'sizeGb: 20, name: "a b"', 'INVALID_INPUT'],
  ])('are created or refused alike: %s', async (_what, body, input, code) => {
    const requests = ({ other }: OwnAccount): FaceRequests => ({
      rest: ['PUT', '/volumes/', { id: other, ...body }],
      graphql: ['createVolume', `offerId: "${other}", ${input}`],
    })
    expect(await expectAgreement(requests, stateSql, onMachine)).toBe(code)
  })

  it.each([
    ['free', false, undefined],
    ['attached', true, 'VOLUME_UNAVAILABLE'],
  ])('are deleted or refused alike when they are %s', async (_what, isAttached, code) => {
    const made = async (key: string) => {
      const id = await volumes.make(key, await volumes.newMachine())
      const [row] = await app.sql(`SELECT machine_id FROM volumes WHERE id = ${id}`)
      const filter = { machine_id: { eq: (row as { machine_id: number }).machine_id } }
      const { body } = await app.rest(key, 'POST', '/bundles/', filter)
      const rentBody = { image: 'ubuntu', volume_info: { volume_id: id, mount_path: '/x' } }
      if (isAttached) await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, rentBody)
      return { id }
    }
    const requests = ({ id }: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/volumes/?id=${id}`],
      graphql: ['deleteVolume', `id: "${id}"`],
    })
    expect(await expectAgreement(requests, stateSql, made)).toBe(code)
  })
})

describe('secret variables', () => {
  const stateSql = 'SELECT name FROM secret_variables WHERE account_id = $account ORDER BY name'
  const set = async (key: string) => {
    await app.rest(key, 'POST', '/secrets/', { key: 'A', value: 'x' })
    return {}
  }

  it.each([
    [
      'setting a variable',
      ['POST', { key: 'B', value: 'y' }],
      ['updateSecretVariables', 'variables: [{ name: "B", value: "y" }]'],
      undefined,
    ],
    [
      'setting an invalid name',
      ['POST', { key: 'B-', value: 'y' }],
      ['updateSecretVariables', 'variables: [{ name: "B-", value: "y" }]'],
      'INVALID_INPUT',
    ],
    ['deleting a variable', ['DELETE', { key: 'A' }], ['deleteSecretVariables', 'names: ["A"]'], undefined],
    ['deleting an unknown variable', ['DELETE', { key: 'B' }], ['deleteSecretVariables', 'names: ["B"]'], 'NOT_FOUND'],
  ] as const)('are changed or refused alike by %s', async (_what, [method, body], [field, input], code) => {
    const requests: FaceRequests = { rest: [method, '/secrets/', body], graphql: [field, input] }
    expect(await expectAgreement(() => requests, stateSql, set)).toBe(code)
  })
})
