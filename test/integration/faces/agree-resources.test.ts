// What belongs to an account is made, changed and refused alike through REST and through GraphQL.

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

/** What a mutation answers; its code where it is refused, as a value or as an error. */
async function mutate(key: string, field: string, input: string): Promise<{ __typename?: string; code?: unknown }> {
  const query = `mutation { ${field}(input: { ${input} }) { __typename ... on Error { code } } }`
  const { data, errors } = await app.graphql(key, query)
  return errors ? { code: errors[0]?.extensions['code'] } : data[field]
}

type FaceRequests = { rest: [method: string, path: string, body?: object]; graphql: [field: string, input: string] }

/** Asks both, each for its own account, and gives what either left behind, or the one code of both. */
async function expectAgreement(
  wish: (own: OwnAccount) => FaceRequests | Promise<FaceRequests>,
  left: string,
  prepare = noPreparation,
) {
  const outcomes: { code: unknown; rows: unknown }[] = []
  for (const face of ['rest', 'graphql'] as const) {
    const key = await newKey()
    const { body } = await app.rest(key, 'GET', '/users/current')
    const own = { key, account: body.id as number, ...(await prepare(key)) }
    const { rest, graphql } = await wish(own)
    let code: unknown
    if (face === 'rest') {
      const [method, path, sent] = rest
      const answer = await app.rest(key, method, path, sent)
      code = answer.status === 200 ? undefined : (refusalCodes[answer.body.error] ?? answer.body.error)
    } else code = (await mutate(key, ...graphql)).code
    const events = await app.sql(`SELECT type FROM events WHERE account_id = ${own.account} ORDER BY id`)
    const rows = await app.sql(left.replaceAll('$account', String(own.account)))
    outcomes.push({ code, rows: [rows, events] })
  }
  expect(outcomes[0]).toEqual(outcomes[1])
  return outcomes[0]?.code
}

type OwnAccount = { key: string; account: number; id?: number; other?: number }
const noPreparation = async (_key: string): Promise<{ id?: number; other?: number }> => ({})

describe('SSH keys', () => {
  const left = `SELECT name, public_key, fingerprint, deleted_at IS NULL AS there FROM ssh_keys
    WHERE account_id = $account ORDER BY id`
  const register = async (key: string, text = 'mine') => {
    const { body } = await app.rest(key, 'POST', '/ssh/', { ssh_key: aPublicKey(text) })
    return { id: body.key.id as number }
  }
  const registering = (line: string): FaceRequests => ({
    rest: ['POST', '/ssh/', { ssh_key: line }],
    graphql: ['registerSshKey', `publicKey: ${JSON.stringify(line)}`],
  })

  it.each([
    ['a key', `${aPublicKey('new')} me@home`, undefined],
    ['a key that is there', aPublicKey('mine'), 'CONFLICT'],
    ['half a key', 'ssh-ed25519 AAAA', 'INVALID_INPUT'],
  ])('register %s', async (_what, line, code) => {
    expect(await expectAgreement(() => registering(line), left, register)).toBe(code)
  })

  it.each([
    ['that is there', ({ id }: OwnAccount) => id, undefined],
    ['that is not', () => 987_654, 'NOT_FOUND'],
  ])('delete one %s', async (_which, which, code) => {
    const wish = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/ssh/${which(own)}/`],
      graphql: ['deleteSshKey', `id: "${which(own)}"`],
    })
    expect(await expectAgreement(wish, left, register)).toBe(code)
  })

  it.each([
    ['by another', 'new', undefined],
    ['by itself', 'mine', undefined],
    ['by one that the account has', 'other', 'CONFLICT'],
  ])('replace one %s', async (_by, text, code) => {
    const wish = ({ id }: OwnAccount): FaceRequests => ({
      rest: ['PUT', `/ssh/${id}/`, { ssh_key: aPublicKey(text) }],
      graphql: ['replaceSshKey', `id: "${id}", publicKey: "${aPublicKey(text)}"`],
    })
    const two = async (key: string) => {
      await register(key, 'other')
      return await register(key)
    }
    expect(await expectAgreement(wish, left, two)).toBe(code)
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
  ])('attach one to %s', async (_what, body, code) => {
    const wish = ({ id, other }: OwnAccount): FaceRequests => ({
      rest: ['POST', `/instances/${other}/ssh/`, { ssh_key: aPublicKey('mine') }],
      graphql: ['attachSshKey', `instanceId: "${other}", sshKeyId: "${id}"`],
    })
    expect(await expectAgreement(wish, attached, prepare(body))).toBe(code)
  })

  it('detach one', async () => {
    const wish = ({ id, other }: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/instances/${other}/ssh/${id}/`],
      graphql: ['detachSshKey', `instanceId: "${other}", sshKeyId: "${id}"`],
    })
    const first = async (key: string) => ({ ...(await register(key)), other: await rentals.rent(key) })
    expect(await expectAgreement(wish, attached, first)).toBeUndefined()
  })
})

describe('API keys', () => {
  const left = `SELECT name, permissions, revoked_at IS NULL AS there FROM api_keys WHERE account_id = $account ORDER BY id`

  it.each([
    ['all', {}, ', fullAccess: true', undefined],
    ['nothing', { permissions: { api: {} } }, ', permissions: []', undefined],
    ['a part', { permissions: { api: { misc: {} } } }, ', permissions: [{ category: MISC }]', undefined],
  ])('are made for %s', async (_what, body, permissions, code) => {
    const wish: FaceRequests = {
      rest: ['POST', '/auth/apikeys/', { name: 'ci', ...body }],
      graphql: ['createApiKey', `name: "ci"${permissions}`],
    }
    expect(await expectAgreement(() => wish, left)).toBe(code)
  })

  it.each([
    ['that is there', ({ id }: OwnAccount) => id, undefined],
    ['that is not', () => 987_654, 'NOT_FOUND'],
  ])('revoke one %s', async (_which, which, code) => {
    const wish = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/auth/apikeys/${which(own)}/`],
      graphql: ['revokeApiKey', `id: "${which(own)}"`],
    })
    const made = async (key: string) => ({
      id: (await app.rest(key, 'POST', '/auth/apikeys/', {})).body.id,
    })
    expect(await expectAgreement(wish, left, made)).toBe(code)
  })
})

describe('templates', () => {
  const left = `SELECT name, public, settings - 'written' AS settings, registry_login IS NOT NULL AS login, deleted_at IS NULL AS there
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

  it('are saved', async () => {
    const wish: FaceRequests = { rest: ['POST', '/template/', sent], graphql: ['saveTemplate', input] }
    expect(await expectAgreement(() => wish, left)).toBeUndefined()
  })

  it('of one account are one, whichever face saved it first', async () => {
    const key = await newKey()
    const { body: first } = await app.rest(key, 'POST', '/template/', sent)
    expect((await mutate(key, 'saveTemplate', input)).code).toBe('CONFLICT')
    const { data } = await app.graphql(key, `{ template(hashId: "${first.template.hash_id}") { id } }`)
    expect(data.template).toEqual({ id: `tpl_${first.template.id}` })
  })

  it('keep what only REST can say, and how it was written, when they are saved anew', async () => {
    const key = await newKey()
    const more = { href: 'https://example.com', repo: 'me/ubuntu', readme_visible: false, tag: '22.04' }
    const { body: first } = await app.rest(key, 'POST', '/template/', { ...sent, ...more, extra_filters: { a: 1 } })
    const { id, hash_id: _, ...before } = first.template
    const save = async (wish: string) => {
      await mutate(key, 'saveTemplate', `id: "${id}", ${wish}`)
      const { body } = await app.rest(key, 'GET', `/template/?select_filters={"id":${id}}`)
      return body.templates[0]
    }
    const same = input.replace('"ubuntu"', '"ubuntu:22.04"')
    expect(await save(same.replace('"D"', '"E"'))).toMatchObject({ ...before, desc: 'E' })
    // What is written anew is not as it was written before.
    const { image, tag, env, href } = await save(same.replace('22.04', '24.04').replace('value: "1"', 'value: "2"'))
    expect([image, tag, env, href]).toEqual(['ubuntu:24.04', '', '-e A=2 -p 80:80', more.href])
    expect(await save('name: "T", image: "ubuntu", dropSecrets: true')).toMatchObject({
      desc: '',
      href: more.href,
      docker_login_repo: '',
    })
  })

  it.each([
    ['name', { ...sent, name: null }, input.replace('name: "T"', 'name: ""')],
    ['disk', { ...sent, recommended_disk_space: 1 }, input.replace('diskGb: 20', 'diskGb: 1')],
    ['secrecy', { ...sent, private: false }, `${input}, public: true`],
  ])('without a right %s are refused', async (_what, rest, graphql) => {
    const wish: FaceRequests = { rest: ['POST', '/template/', rest], graphql: ['saveTemplate', graphql] }
    expect(await expectAgreement(() => wish, left)).toBe('INVALID_INPUT')
  })

  it.each([
    ['that is there', ({ id }: OwnAccount) => id, undefined],
    ['that is not', () => 987_654, 'NOT_FOUND'],
  ])('delete one %s', async (_which, which, code) => {
    const wish = (own: OwnAccount): FaceRequests => ({
      rest: ['DELETE', '/template/', { template_id: which(own) }],
      graphql: ['deleteTemplate', `id: "${which(own)}"`],
    })
    const save = async (key: string) => ({ id: (await app.rest(key, 'POST', '/template/', sent)).body.template.id })
    expect(await expectAgreement(wish, left, save)).toBe(code)
  })
})

describe('volumes', () => {
  const left = `SELECT name, size_mb, storage_nanos, disk_nanos, deleted_at IS NULL AS there FROM volumes WHERE account_id = $account`
  const onMachine = async () => ({ other: await volumes.newMachine() })

  it.each([
    ['as wished', { size: 20, name: 'v' }, 'sizeGb: 20, name: "v"', undefined],
    ['too small', { size: 0.5 }, 'sizeGb: 0.5', 'INVALID_INPUT'],
    ['too large', { size: 100_000 }, 'sizeGb: 100000', 'INVALID_INPUT'],
    ['with a wrong name', { size: 20, name: 'a b' }, 'sizeGb: 20, name: "a b"', 'INVALID_INPUT'],
  ])('are made %s', async (_what, body, input, code) => {
    const wish = ({ other }: OwnAccount): FaceRequests => ({
      rest: ['PUT', '/volumes/', { id: other, ...body }],
      graphql: ['createVolume', `offerId: "${other}", ${input}`],
    })
    expect(await expectAgreement(wish, left, onMachine)).toBe(code)
  })

  it.each([
    ['free', false, undefined],
    ['attached', true, 'VOLUME_UNAVAILABLE'],
  ])('are deleted when they are %s', async (_what, isAttached, code) => {
    const made = async (key: string) => {
      const id = await volumes.make(key, await volumes.newMachine())
      const [row] = await app.sql(`SELECT machine_id FROM volumes WHERE id = ${id}`)
      const filter = { machine_id: { eq: (row as { machine_id: number }).machine_id } }
      const { body } = await app.rest(key, 'POST', '/bundles/', filter)
      const wish = { image: 'ubuntu', volume_info: { volume_id: id, mount_path: '/x' } }
      if (isAttached) await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, wish)
      return { id }
    }
    const wish = ({ id }: OwnAccount): FaceRequests => ({
      rest: ['DELETE', `/volumes/?id=${id}`],
      graphql: ['deleteVolume', `id: "${id}"`],
    })
    expect(await expectAgreement(wish, left, made)).toBe(code)
  })
})

describe('secret variables', () => {
  const left = 'SELECT name FROM secret_variables WHERE account_id = $account ORDER BY name'
  const set = async (key: string) => {
    await app.rest(key, 'POST', '/secrets/', { key: 'A', value: 'x' })
    return {}
  }

  it.each([
    [
      'set',
      ['POST', { key: 'B', value: 'y' }],
      ['setSecretVariables', 'variables: [{ name: "B", value: "y" }]'],
      undefined,
    ],
    [
      'misnamed',
      ['POST', { key: 'B-', value: 'y' }],
      ['setSecretVariables', 'variables: [{ name: "B-", value: "y" }]'],
      'INVALID_INPUT',
    ],
    ['deleted', ['DELETE', { key: 'A' }], ['deleteSecretVariable', 'name: "A"'], undefined],
    ['deleted that are not there', ['DELETE', { key: 'B' }], ['deleteSecretVariable', 'name: "B"'], 'NOT_FOUND'],
  ] as const)('are %s', async (_what, [method, body], [field, input], code) => {
    const wish: FaceRequests = { rest: [method, '/secrets/', body], graphql: [field, input] }
    expect(await expectAgreement(() => wish, left, set)).toBe(code)
  })
})
