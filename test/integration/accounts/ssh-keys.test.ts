import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aPublicKey, privateKeys } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string
let stranger: string
let count = 0

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  stranger = await app.newKey(null, someCredit)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const aKey = () => {
  count += 1
  return aPublicKey(String(count))
}

const refusal = `__typename ... on Error { code message } ... on NotFoundError { missing: id }
  ... on InvalidInputError { issues { path message } }`

async function register(by: string, input: object) {
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: CreateSshKeyInput!) { createSshKey(input: $input) { ${refusal}
      ... on ConflictError { id } ... on CreateSshKeySuccess { replayed sshKey { id name publicKey fingerprint createdAt } } } }`,
    { input },
  )
  return data?.createSshKey ?? errors
}

async function registerKey(by: string, publicKey = aKey()): Promise<string> {
  return (await register(by, { publicKey })).sshKey.id
}

async function remove(by: string, id: string) {
  const query = `mutation ($input: DeleteSshKeyInput!) { deleteSshKey(input: $input) { ${refusal} ... on DeleteSshKeySuccess { deletedId } } }`
  const { data, errors } = await app.graphql(by, query, { input: { id } })
  return data?.deleteSshKey ?? errors
}

async function update(by: string, id: string, changes: object) {
  const query = `mutation ($input: UpdateSshKeyInput!) { updateSshKey(input: $input) { ${refusal} ... on ConflictError { id }
    ... on UpdateSshKeySuccess { sshKey { id name publicKey fingerprint } } } }`
  const { data, errors } = await app.graphql(by, query, { input: { id, ...changes } })
  return data?.updateSshKey?.sshKey ?? data?.updateSshKey ?? errors
}

async function change(verb: 'attach' | 'detach', by: string, instanceId: number, sshKeyId: string) {
  const { data, errors } = await app.graphql(
    by,
    `mutation { ${verb}SshKey(input: { id: "${instanceId}", sshKeyId: "${sshKeyId}" }) {
      ${refusal} ... on ${verb === 'attach' ? 'Attach' : 'Detach'}SshKeySuccess { instance { id sshKeys { id publicKey } } } } }`,
  )
  return data?.[`${verb}SshKey`] ?? errors
}

async function listKeys(by: string): Promise<{ id: string; name: string }[]> {
  return (await app.graphql(by, '{ viewer { account { sshKeys { id name } } } }')).data.viewer.account.sshKeys
}

async function keysIn(id: number): Promise<string[]> {
  const [row] = await app.sql(`SELECT ssh_keys FROM simulated_containers WHERE instance_id = ${id}`)
  return (row as { ssh_keys: string[] }).ssh_keys
}

/** SSH key events of an instance, or of all accounts, newest last. */
async function eventsOf(id?: number): Promise<{ kind: string; before: unknown; after: unknown }[]> {
  const where = id === undefined ? "kind LIKE 'SSH_KEY%'" : `instance_id = ${id} AND kind LIKE '%SSH_KEY%'`
  return (await app.sql(`SELECT kind, before, after FROM events WHERE ${where} ORDER BY id`)) as never
}

/** Rents a virtual machine, which gets the keys of its account. */
async function aVm(by: string): Promise<number> {
  return await rentals.rent(by, { vm: true }, { vmsEnabled: true })
}

const idOf = (sshKeyId: string) => Number(sshKeyId.slice(4))

describe('registering an SSH key', () => {
  it('stores the key without its comment, which becomes its name', async () => {
    const publicKey = aKey()
    const { sshKey, replayed } = await register(key, { publicKey: `${publicKey} anna@laptop\n` })
    expect([sshKey, replayed]).toEqual([
      {
        ...{ id: expect.stringMatching(/^ssh_\d+$/), name: 'anna@laptop', publicKey },
        ...{
          fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
          createdAt: app.clock.now().toISOString(),
        },
      },
      false,
    ])
    expect((await eventsOf()).at(-1)).toEqual({
      kind: 'SSH_KEY_CREATED',
      before: null,
      after: { sshKeyId: idOf(sshKey.id), name: 'anna@laptop', fingerprint: sshKey.fingerprint },
    })
    expect(await listKeys(key)).toEqual([{ id: sshKey.id, name: 'anna@laptop' }])
    const { data } = await app.graphql(key, `{ node(id: "${sshKey.id}") { id ... on SshKey { publicKey } } }`)
    expect(data.node).toEqual({ id: sshKey.id, publicKey })
  })

  it('adds the key to the end of the list, and REST shows the newest key', async () => {
    const newest = async () => (await app.rest(key, 'GET', '/users/current/')).body.ssh_key
    expect([await listKeys(key), await newest()]).toEqual([[], ''])
    const [first, second] = [aKey(), aKey()]
    const ids = [await registerKey(key, first), await registerKey(key, second)]
    expect((await listKeys(key)).map(({ id }) => id)).toEqual(ids)
    expect(await newest()).toBe(second)
    await remove(key, ids[1] as string)
    expect(await newest()).toBe(first)
    expect(await listKeys(key)).toHaveLength(1)
  })

  it('reports every issue at once, and stores nothing', async () => {
    const { code, issues } = await register(key, {
      publicKey: 'ssh-ed25519 AAAA',
      name: 'a\nb',
      instanceIds: Array(65).fill('1'),
    })
    expect(code).toBe('INVALID_INPUT')
    expect(issues.map(({ path }: { path: string }) => path)).toEqual(['publicKey', 'name', 'instanceIds'])
    const { issues: unreadable } = await register(key, { publicKey: aKey(), instanceIds: ['1', 'off_2'] })
    expect(unreadable.map(({ path }: { path: string }) => path)).toEqual(['instanceIds.1'])
    expect(await listKeys(key)).toEqual([])
  })

  it.each(Object.entries(privateKeys()))(
    'refuses a private key of %s, without repeating or storing any of it',
    async (_, text) => {
      const before = app.logLines.length
      const answer = await register(key, { publicKey: text, name: text, idempotencyKey: 'private' })
      expect(answer.issues).toEqual([
        { path: 'publicKey', message: expect.stringContaining('is a private key') },
        { path: 'name', message: expect.stringContaining('is a private key') },
      ])
      const kept = await app.sql(`SELECT (SELECT json_agg(k) FROM ssh_keys k), (SELECT json_agg(e) FROM events e),
      (SELECT json_agg(i) FROM idempotency_keys i WHERE key = 'private')`)
      const shown = JSON.stringify([answer, kept, app.logLines.slice(before)])
      for (const word of text.split(/[\s-]+/).filter(({ length }) => length > 30)) expect(shown).not.toContain(word)
      expect(kept).toMatchObject([{ json_agg: null }])
    },
  )

  it('refuses a key that the account has, with any comment, and names that key', async () => {
    const publicKey = aKey()
    const id = await registerKey(key, `${publicKey} one`)
    const refused = {
      __typename: 'ConflictError',
      code: 'CONFLICT',
      message: 'The account already has this SSH key.',
      id,
    }
    expect(await register(key, { publicKey })).toEqual(refused)
    expect(await register(key, { publicKey: `  ${publicKey}   two `, name: 'three' })).toEqual(refused)
    expect(await listKeys(key)).toEqual([{ id, name: 'one' }])
    expect(await registerKey(stranger, publicKey)).not.toBe(id)
    await remove(key, id)
    expect(await registerKey(key, publicKey)).not.toBe(id)
  })

  it('registers a key once when several requests send it at once', async () => {
    const other = await startApp({ sharedApp: app })
    const publicKey = aKey()
    const query = `mutation { createSshKey(input: { publicKey: "${publicKey}" }) { __typename
      ... on CreateSshKeySuccess { sshKey { id } } ... on ConflictError { id } } }`
    const requests = Array.from({ length: 20 }, (_, index) => (index % 2 ? app : other).graphql(key, query))
    const answers = (await Promise.all(requests)).map(({ data }) => data.createSshKey)
    await other.close()
    const [made, ...more] = answers.filter(({ __typename }) => __typename === 'CreateSshKeySuccess')
    expect(more).toEqual([])
    const refused = answers.filter(answer => answer !== made)
    expect(refused).toEqual(Array(19).fill({ __typename: 'ConflictError', id: made.sshKey.id }))
    expect(await listKeys(key)).toHaveLength(1)
  })

  it('is limited by the database to one row per key', async () => {
    await registerKey(key)
    const again =
      'INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at) SELECT account_id, name, public_key, fingerprint, now() FROM ssh_keys ORDER BY id DESC LIMIT 1'
    await expect(app.sql(again)).rejects.toThrow('ssh_keys_of_account')
  })

  it('stops at 100 keys, even for many requests at once', async () => {
    await registerKey(key)
    await app.sql(`INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
      SELECT account_id, '', public_key, n::text, now() FROM ssh_keys, generate_series(1, 95) n
      WHERE id = (SELECT max(id) FROM ssh_keys)`)
    const answers = await Promise.all(Array.from({ length: 8 }, () => register(key, { publicKey: aKey() })))
    expect(answers.filter(({ sshKey }) => sshKey)).toHaveLength(4)
    const message = 'An account has at most 100 SSH keys. Delete one first.'
    expect(answers.find(({ sshKey }) => !sshKey)).toMatchObject({ code: 'CONFLICT', message, id: null })
    expect(await listKeys(key)).toHaveLength(100)
    await remove(key, (await listKeys(key))[0]?.id as string)
    expect((await register(key, { publicKey: aKey() })).sshKey).toBeTruthy()
  })

  it('answers a repeated request with the first result, and refuses another input under its idempotency key', async () => {
    const input = { publicKey: aKey(), name: 'mine', idempotencyKey: 'first' }
    const first = await register(key, input)
    expect(await register(key, { ...input, publicKey: `${input.publicKey} comment` })).toEqual({
      ...first,
      replayed: true,
    })
    expect((await register(key, { ...input, name: 'other' })).code).toBe('IDEMPOTENCY_KEY_REUSED')
    expect((await register(stranger, input)).replayed).toBe(false)
  })

  it('attaches the key to all given containers, or registers nothing', async () => {
    const [one, two] = [await rentals.rentToStatus(key, 'running'), await rentals.rent(key)]
    const [ended, foreign] = [await rentals.rentToStatus(key, 'exited'), await rentals.rent(stranger)]
    const publicKey = aKey()
    for (const [id, code] of [[ended, 'INVALID_STATE'] as const, [foreign, 'NOT_FOUND'] as const]) {
      const answer = await register(key, { publicKey, instanceIds: [`ins_${one}`, String(id)] })
      expect(answer.code).toBe(code)
      expect([await listKeys(key), await eventsOf(one)]).toEqual([[], []])
    }
    const answer = await register(key, { publicKey, instanceIds: [`ins_${two}`, String(one), String(two)] })
    expect(answer.__typename).toBe('CreateSshKeySuccess')
    await rentals.converge()
    expect([await keysIn(one), await keysIn(two)]).toEqual([[publicKey], [publicKey]])
    expect(await eventsOf(two)).toHaveLength(1)
  })
})

describe('a container', () => {
  it('gets and loses a key once each, while it runs', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    expect(await keysIn(id)).toEqual([])
    const [first, second] = [aKey(), aKey()]
    const [one, two] = [await registerKey(key, first), await registerKey(key, second)]
    expect(await keysIn(id)).toEqual([])

    const attached = { instance: { id: `ins_${id}`, sshKeys: [{ id: two, publicKey: second }] } }
    expect(await change('attach', key, id, two)).toMatchObject(attached)
    await app.runUntilIdle()
    expect(await keysIn(id)).toEqual([second])
    expect(await change('attach', key, id, two)).toMatchObject(attached)
    await change('attach', key, id, one)
    await app.runUntilIdle()
    expect(await keysIn(id)).toEqual([first, second])

    expect((await change('detach', key, id, two)).instance.sshKeys).toEqual([{ id: one, publicKey: first }])
    expect((await change('detach', key, id, two)).instance.sshKeys).toHaveLength(1)
    await app.runUntilIdle()
    expect(await keysIn(id)).toEqual([first])
    expect((await rentals.read(key, id)).actual_status).toBe('running')
    const kind = 'INSTANCE_SSH_KEYS_CHANGED'
    expect(await eventsOf(id)).toEqual([
      { kind, before: null, after: { sshKeyId: idOf(two) } },
      { kind, before: null, after: { sshKeyId: idOf(one) } },
      { kind, before: { sshKeyId: idOf(two) }, after: null },
    ])
  })

  it('has its keys corrected by the next pass after they changed on the machine', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const publicKey = aKey()
    await change('attach', key, id, await registerKey(key, publicKey))
    await app.runUntilIdle()
    await app.sql(`UPDATE simulated_containers SET ssh_keys = '{ssh-ed25519 intruder}' WHERE instance_id = ${id}`)
    app.clock.advance(61_000)
    await app.runUntilIdle()
    expect(await keysIn(id)).toEqual([publicKey])
  })

  it('is created with the keys attached before', async () => {
    const id = await rentals.rent(key)
    const publicKey = aKey()
    await change('attach', key, id, await registerKey(key, publicKey))
    await rentals.converge()
    expect([await keysIn(id), (await rentals.read(key, id)).actual_status]).toEqual([[publicKey], 'running'])
  })

  it('that was stopped has its changed keys when it starts again', async () => {
    const [first, second] = [aKey(), aKey()]
    const [one, two] = [await registerKey(key, first), await registerKey(key, second)]
    const id = await rentals.rent(key)
    await change('attach', key, id, one)
    await rentals.converge()
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await rentals.converge()
    await change('detach', key, id, one)
    await change('attach', key, id, two)
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    await app.runUntilIdle()
    expect([await keysIn(id), (await rentals.read(key, id)).actual_status]).toEqual([[second], 'loading'])
  })

  it('in args mode gets no keys, neither when it is rented nor later', async () => {
    const sshKey = await registerKey(key)
    const id = await rentals.rent(key, { runtype: 'args' })
    const { data } = await app.graphql(key, `{ instance(id: ${id}) { sshKeys { id } } }`)
    expect(data.instance.sshKeys).toEqual([])
    const message = 'The instance was rented in args mode, so it has no SSH server and takes no SSH keys.'
    for (const verb of ['attach', 'detach'] as const) {
      expect(await change(verb, key, id, sshKey)).toMatchObject({ code: 'INVALID_STATE', message })
    }
    const answer = await register(key, { publicKey: aKey(), instanceIds: [id] })
    expect(answer).toMatchObject({ code: 'INVALID_STATE', message })
    await rentals.converge()
    expect([await keysIn(id), await eventsOf(id), await listKeys(key)]).toEqual([
      [],
      [],
      [{ id: sshKey, name: sshKey }],
    ])
  })

  it('with keys costs as many statements per idle pass as a container without keys', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const pass = async () => {
      app.clock.advance(61_000)
      await app.sql(`UPDATE instance_looks SET due_at = NULL WHERE instance_id <> ${id}`)
      const statements = await captureQueries(() => app.runUntilIdle())
      // The number and order of polls for due work depend on timing.
      return statements.filter(text => !/SKIP LOCKED|^BEGIN|^COMMIT|advisory/.test(text)).toSorted()
    }
    const without = await pass()
    expect(without.length).toBeGreaterThan(2)
    for (const sshKey of [await registerKey(key), await registerKey(key)]) await change('attach', key, id, sshKey)
    await app.runUntilIdle()
    expect(await pass()).toEqual(without)
  })

  it.each(['exited', 'offline', 'unknown'])('that is %s gets no key and loses none', async status => {
    const [id, sshKey] = [await rentals.rentToStatus(key, status), await registerKey(key)]
    const refused = { code: 'INVALID_STATE', message: expect.stringContaining(`The instance has the status ${status}`) }
    expect(await change('attach', key, id, sshKey)).toMatchObject(refused)
    expect(await change('detach', key, id, sshKey)).toMatchObject(refused)
    expect(await eventsOf(id)).toEqual([])
  })

  it('that was destroyed gets no key and loses none', async () => {
    const [id, sshKey] = [await rentals.rent(key), await registerKey(key)]
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    for (const verb of ['attach', 'detach'] as const) {
      const message = `Instance ins_${id} is destroyed. Rent another one.`
      expect(await change(verb, key, id, sshKey)).toMatchObject({ code: 'INVALID_STATE', message })
    }
  })

  it('cannot get a key of another account or a deleted one: neither is found', async () => {
    const id = await rentals.rent(key)
    const deleted = await registerKey(key)
    await remove(key, deleted)
    for (const sshKey of [await registerKey(stranger), deleted, 'ssh_987654321', 'ssh_99999999999']) {
      for (const verb of ['attach', 'detach'] as const) {
        const answer = await change(verb, key, id, sshKey)
        expect(answer).toMatchObject({
          code: 'NOT_FOUND',
          message: `SSH key ssh_${idOf(sshKey)} not found.`,
          missing: sshKey,
        })
      }
    }
  })
})

describe('a virtual machine', () => {
  it('keeps the keys that it was created with', async () => {
    const renter = await app.newKey(null, someCredit)
    const inside = await registerKey(renter)
    const id = await aVm(renter)
    const other = await registerKey(renter)
    const refused = {
      code: 'INVALID_STATE',
      message: 'A virtual machine keeps the SSH keys that it was created with.',
    }
    expect(await change('attach', renter, id, other)).toMatchObject(refused)
    expect(await change('detach', renter, id, inside)).toMatchObject(refused)
    expect((await register(renter, { publicKey: aKey(), instanceIds: [id] })).code).toBe('INVALID_STATE')
    await rentals.converge()
    const keys = await keysIn(id)
    expect(keys).toHaveLength(1)
    await remove(renter, inside)
    app.clock.advance(61_000)
    await app.runUntilIdle()
    expect(await keysIn(id)).toEqual(keys)
    const { data } = await app.graphql(renter, `{ instance(id: ${id}) { sshKeys { id } } }`)
    expect(data.instance.sshKeys).toEqual([{ id: inside }])
    expect(await eventsOf(id)).toEqual([])
  })
})

describe('updating an SSH key', () => {
  it('changes the name alone, and no container', async () => {
    const publicKey = aKey()
    const { sshKey } = await register(key, { publicKey, name: 'laptop' })
    const id = await rentals.rentToStatus(key, 'running')
    const [before] = await app.sql(`SELECT generation FROM instance_looks WHERE instance_id = ${id}`)
    const { createdAt: _, ...facts } = sshKey
    expect(await update(key, sshKey.id, { name: 'desktop' })).toEqual({ ...facts, name: 'desktop' })
    expect(await update(key, sshKey.id, {})).toEqual({ ...facts, name: 'desktop' })
    expect(await app.sql(`SELECT generation FROM instance_looks WHERE instance_id = ${id}`)).toEqual([before])
    const { data } = await app.graphql(
      key,
      `{ events(first: 9, filter: { subjectIds: ["${sshKey.id}"], kinds: [SSH_KEY_UPDATED] }) {
        nodes { message changes { field before after } } } }`,
    )
    expect(data.events.nodes).toEqual([
      { message: 'SSH key "desktop" renamed.', changes: [{ field: 'name', before: 'laptop', after: 'desktop' }] },
    ])
    expect(await update(key, sshKey.id, { name: null })).toEqual({ ...facts, name: sshKey.id })
  })

  it('changes the public key alone: the name stays, whatever the comment says', async () => {
    const { sshKey } = await register(key, { publicKey: aKey(), name: 'laptop' })
    const id = await rentals.rentToStatus(key, 'running')
    const publicKey = aKey()
    const updated = await update(key, sshKey.id, { publicKey: `${publicKey} anna@work` })
    expect(updated).toMatchObject({ id: sshKey.id, name: 'laptop', publicKey })
    expect(updated.fingerprint).not.toBe(sshKey.fingerprint)
    await rentals.converge()
    expect(await keysIn(id)).toEqual([publicKey])
    expect(await update(key, sshKey.id, { publicKey: aKey(), name: 'both' })).toMatchObject({ name: 'both' })
  })

  it('refuses null, every invalid part, a key that is registered, and keys that are not found', async () => {
    const [id, other] = [await registerKey(key), await registerKey(key)]
    const before = await app.sql(`SELECT * FROM ssh_keys ORDER BY id`)
    expect(await update(key, id, { publicKey: null })).toMatchObject({
      issues: [{ path: 'publicKey', message: 'cannot be removed. Leave it out to keep it.' }],
    })
    const invalid = await update(key, id, { publicKey: 'ssh-dss AAAA', name: 'two\nlines' })
    expect(invalid.issues.map(({ path }: { path: string }) => path)).toEqual(['publicKey', 'name'])
    const [{ public_key: taken }] = (await app.sql(`SELECT public_key FROM ssh_keys WHERE id = ${idOf(other)}`)) as [
      { public_key: string },
    ]
    expect(await update(key, id, { publicKey: taken })).toMatchObject({ code: 'CONFLICT', id: other })
    expect(await update(stranger, id, { name: 'taken' })).toMatchObject({ code: 'NOT_FOUND', missing: id })
    expect(await update(key, 'ssh_987654321', { name: 'x' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await update(key, 'key_1', { name: 'x' })).toMatchObject({ code: 'INVALID_INPUT' })
    expect(await app.sql(`SELECT * FROM ssh_keys ORDER BY id`)).toEqual(before)
  })
})

describe('deleting an SSH key', () => {
  it('removes the key from every container', async () => {
    const [first, second] = [aKey(), aKey()]
    const [one, two] = [await registerKey(key, first), await registerKey(key, second)]
    const ids = [await rentals.rentToStatus(key, 'running'), await rentals.rentToStatus(key, 'running')]
    for (const id of ids) for (const sshKey of [one, two]) await change('attach', key, id, sshKey)
    await app.runUntilIdle()
    expect(await remove(key, one)).toEqual({ __typename: 'DeleteSshKeySuccess', deletedId: one })
    await app.runUntilIdle()
    for (const id of ids) {
      expect(await keysIn(id)).toEqual([second])
      expect((await eventsOf(id)).at(-1)).toMatchObject({ before: { sshKeyId: idOf(one) } })
    }
    expect((await eventsOf()).at(-1)).toMatchObject({ kind: 'SSH_KEY_DELETED', before: { sshKeyId: idOf(one) } })
    expect((await app.graphql(key, `{ node(id: "${one}") { id } }`)).data.node).toBeNull()
  })

  it('does not change instances that were destroyed before', async () => {
    const [id, sshKey] = [await rentals.rent(key), await registerKey(key)]
    await change('attach', key, id, sshKey)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    const events = await eventsOf(id)
    await remove(key, sshKey)
    expect(await eventsOf(id)).toEqual(events)
  })

  it('is refused the second time', async () => {
    const id = await registerKey(key)
    await remove(key, id)
    const events = await eventsOf()
    expect(await remove(key, id)).toMatchObject({ code: 'NOT_FOUND', missing: id })
    expect(await eventsOf()).toEqual(events)
  })

  it('leaves the key in no container, even when other requests attach it at the same moment', async () => {
    const ids: number[] = []
    while (ids.length < 6) ids.push(await rentals.rent(key))
    for (let round = 1; round <= 5; round += 1) {
      const sshKey = await registerKey(key)
      const attaching = ids.map(id => change('attach', key, id, sshKey))
      await Promise.all([...attaching.slice(0, 3), remove(key, sshKey), ...attaching.slice(3)])
      const rows = await app.sql(`SELECT FROM instance_ssh_keys WHERE ssh_key_id = ${idOf(sshKey)}`)
      expect(rows).toEqual([])
    }
  })
})

describe('reading SSH keys', () => {
  it('costs as many statements for the keys of 50 instances as for the keys of one instance', async () => {
    const many = await app.newKey(null, someCredit)
    for (const [by, instances] of [[key, 1] as const, [many, 50] as const]) {
      const ids: string[] = []
      for (let index = 0; index < instances; index += 1) ids.push(String(await rentals.rent(by)))
      for (const instanceIds of [ids, ids]) await register(by, { publicKey: aKey(), instanceIds })
    }
    const statements = async (by: string, instances: number) => {
      const sent = await captureQueries(async () => {
        const { data } = await app.graphql(
          by,
          '{ instances(first: 50) { nodes { id sshKeys { id name fingerprint } } } }',
        )
        const keys = data.instances.nodes.map(({ sshKeys }: { sshKeys: unknown[] }) => sshKeys.length)
        expect(keys).toEqual(Array(instances).fill(2))
      })
      return sent.length
    }
    expect(await statements(many, 50)).toBe(await statements(key, 1))
  })

  it('reads the keys with one statement, and of each key only what is asked for', async () => {
    const instance = await rentals.rent(key)
    const ids = [await registerKey(key), await registerKey(key)]
    for (const id of ids) await change('attach', key, instance, id)
    const readsOf = async (query: string) => {
      const sent = await captureQueries(async () => {
        const { errors } = await app.graphql(key, query)
        expect(errors).toBeUndefined()
      })
      return sent.filter(text => text.includes('ssh_keys'))
    }
    const queries = [
      '{ viewer { account { sshKeys { id fingerprint } } } }',
      '{ instances { nodes { sshKeys { id fingerprint } } } }',
      `{ nodes(ids: ${JSON.stringify(ids)}) { ... on SshKey { id fingerprint } } }`,
    ]
    for (const query of queries) {
      const reads = await readsOf(query)
      expect(reads, query).toHaveLength(1)
      expect(reads[0]).toContain('fingerprint')
      expect(reads[0]).not.toMatch(/public_key|"name"|created_at/)
    }
    const rename = `mutation { updateSshKey(input: { id: "${ids[0]}", name: "renamed" }) {
      ... on UpdateSshKeySuccess { sshKey { id publicKey createdAt } } } }`
    const selected = (await readsOf(rename)).filter(text => /^SELECT.*created_at/.test(text))
    expect(selected).toHaveLength(1)
  })

  it('shows each change to later fields of the same request', async () => {
    const [id, one, two] = [await rentals.rent(key), await registerKey(key), await registerKey(key)]
    const shownBy = (success: string) => `{ ... on ${success} { instance { sshKeys { id } } } }`
    const ask = async (mutations: string) => {
      const { data, errors } = await app.graphql(key, `mutation { ${mutations} }`)
      expect(errors).toBeUndefined()
      return Object.values<{ instance?: { sshKeys: { id: string }[] } }>(data).map(({ instance }) =>
        instance?.sshKeys.map(sshKey => sshKey.id),
      )
    }
    const attach = (sshKeyId: string) =>
      `attachSshKey(input: { id: "${id}", sshKeyId: "${sshKeyId}" }) ${shownBy('AttachSshKeySuccess')}`
    const label = (text: string) => `updateInstance(input: { id: "${id}", label: "${text}" })
      ${shownBy('UpdateInstanceSuccess')}`
    expect(
      await ask(`a: ${attach(one)} b: ${attach(two)}
        c: detachSshKey(input: { id: "${id}", sshKeyId: "${one}" }) ${shownBy('DetachSshKeySuccess')}`),
    ).toEqual([[one], [one, two], [two]])
    expect(
      await ask(`a: ${label('x')} b: deleteSshKey(input: { id: "${two}" }) { __typename } c: ${label('y')}
        d: createSshKey(input: { publicKey: "${aKey()}", instanceIds: ["${id}"] }) { __typename } e: ${label('z')}`),
    ).toEqual([[two], undefined, [], undefined, [expect.any(String)]])
  })

  it('never shows keys of another account', async () => {
    const id = await registerKey(key)
    expect(await listKeys(stranger)).not.toContainEqual(expect.objectContaining({ id }))
    const { data } = await app.graphql(stranger, `{ nodes(ids: ["${id}", "ssh_99999999999"]) { id } }`)
    expect(data.nodes).toEqual([null, null])
    const other = await app.newKey()
    expect((await app.rest(other, 'GET', '/users/current/')).body.ssh_key).toBe('')
  })
})

describe('a scoped API key', () => {
  it('with instance_write attaches registered keys, and sees them on instances', async () => {
    const [id, sshKey] = [await rentals.rent(key), await registerKey(key)]
    const writer = await app.newScopedKey(key, { api: { instance_write: {} } })
    expect((await change('attach', writer, id, sshKey)).instance.sshKeys).toMatchObject([{ id: sshKey }])
    expect((await change('detach', writer, id, sshKey)).instance.sshKeys).toEqual([])
    const { errors } = await app.graphql(writer, `{ node(id: "${sshKey}") { id } }`)
    expect(errors).toMatchObject([{ extensions: { missing: ['SSH_KEYS'] } }])
  })

  it('with user_write registers SSH keys, and cannot attach them to containers', async () => {
    const id = await rentals.rent(key)
    const writer = await app.newScopedKey(key, { api: { user_write: {} } })
    expect((await register(writer, { publicKey: aKey() })).sshKey).toBeTruthy()
    expect(await register(writer, { publicKey: aKey(), instanceIds: [id] })).toMatchObject([
      { extensions: { code: 'FORBIDDEN', missing: ['ATTACH_SSH_KEY'] } },
    ])
    expect(await listKeys(key)).toHaveLength(1)
  })

  it('with user_read lists SSH keys, and cannot change them', async () => {
    const sshKey = await registerKey(key)
    const viewer = await app.newScopedKey(key, { api: { user_read: { 'accounts.viewer': {} } } })
    const { errors } = await app.graphql(viewer, '{ viewer { account { sshKeys { id } } } }')
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    expect((await app.rest(viewer, 'GET', '/users/current/')).body.ssh_key).toContain('ssh-ed25519')
    const reader = await app.newScopedKey(key, { api: { user_read: {} } })
    expect(await listKeys(reader)).toMatchObject([{ id: sshKey }])
    expect(await remove(reader, sshKey)).toMatchObject([{ extensions: { missing: ['DELETE_SSH_KEY'] } }])
  })
})
