import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let templates: ReturnType<typeof templatesOf>
let owner: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  templates = templatesOf(app)
  owner = await app.newKey()
  stranger = await app.newKey()
})

afterAll(() => app.close())

const plainId = (id: string) => Number(id.slice('tpl_'.length))
const eventsOf = async (id: string) =>
  await app.sql(`SELECT kind, before, after FROM events
    WHERE coalesce(after, before)->>'templateId' = '${plainId(id)}' AND kind LIKE 'TEMPLATE%' ORDER BY id`)

const fullTemplate = {
  name: 'everything',
  mode: { jupyter: { direct: true, lab: true, directory: '/work' } },
  description: 'Trains',
  readme: '# Training',
  env: [
    { name: 'A', value: '1' },
    { name: 'B', value: 'b c' },
    { name: 'C', value: '' },
  ],
  ports: [
    { hostPort: 80, containerPort: 8080 },
    { containerPort: 53, protocol: 'UDP' },
  ],
  hostname: 'box',
  registry: { host: 'ghcr.io', username: 'me', password: 'pass' },
  onStart: 'go',
  diskGb: 20.5,
  volumeHint: { mountPath: '/data', sizeGb: 10 },
}

describe('a template', () => {
  it('is read with all its visible settings', async () => {
    const saved = await templates.mustCreate(owner, fullTemplate)
    expect(saved).toEqual({
      id: expect.stringMatching(/^tpl_\d+$/),
      hashId: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'everything',
      public: false,
      mine: true,
      image: 'torch',
      description: 'Trains',
      readme: '# Training',
      mode: { ssh: null, jupyter: { direct: true, lab: true, directory: '/work' }, args: null },
      hostname: 'box',
      onStart: 'go',
      diskGb: 20.5,
      env: [
        ['A', '1'],
        ['B', 'b c'],
        ['C', ''],
      ].map(([name, value]) => ({ name, value, secret: false, source: 'TEMPLATE' })),
      ports: [
        { hostPort: 80, containerPort: 8080, protocol: 'TCP', source: 'TEMPLATE' },
        { hostPort: 53, containerPort: 53, protocol: 'UDP', source: 'TEMPLATE' },
      ],
      registry: { host: 'ghcr.io', username: 'me' },
      volumeHint: { mountPath: '/data', sizeGb: 10 },
      createdAt: expect.any(String),
      updatedAt: saved['createdAt'],
    })
    expect(await templates.find(owner, saved)).toEqual([saved, saved, saved, saved])
  })

  it('leaves absent settings open', async () => {
    const saved = await templates.mustCreate(owner, { name: 'bare' })
    expect(saved).toMatchObject({
      description: null,
      readme: null,
      mode: null,
      diskGb: null,
      onStart: null,
      registry: null,
      volumeHint: null,
      ports: [],
    })
  })

  it('keeps its id after a change, gets a new hash, and is not found by the old hash', async () => {
    const first = await templates.mustCreate(owner, { ...fullTemplate, name: 'changing' })
    app.clock.advance(5_000)
    const second = await templates.mustUpdate(owner, { id: first.id, registry: null, onStart: null, env: null })
    expect(second).toMatchObject({
      id: first.id,
      createdAt: first['createdAt'],
      registry: null,
      onStart: null,
      env: [],
    })
    expect(second.hashId).not.toBe(first.hashId)
    expect(Date.parse(second['updatedAt'] as string)).toBe(Date.parse(first['updatedAt'] as string) + 5_000)
    expect(await templates.find(owner, { id: first.id, hashId: first.hashId })).toEqual([null, second, second, second])
    const [row] = await app.sql(`SELECT registry_login FROM templates WHERE id = ${plainId(first.id)}`)
    expect(row).toEqual({ registry_login: null })
    const [a, b] = [first, second].map(({ hashId }) => ({ templateId: plainId(first.id), name: 'changing', hashId }))
    expect(await eventsOf(first.id)).toEqual([
      { kind: 'TEMPLATE_CREATED', before: null, after: a },
      { kind: 'TEMPLATE_UPDATED', before: a, after: b },
    ])
  })

  it('keeps its hash when only a password changes', async () => {
    const login = { host: 'ghcr.io', username: 'me', password: 'first' }
    const first = await templates.mustCreate(owner, { name: 'same', registry: login })
    const [before] = await app.sql(`SELECT registry_login FROM templates WHERE id = ${plainId(first.id)}`)
    const again = await templates.mustUpdate(owner, {
      id: first.id,
      name: 'same',
      registry: { ...login, password: 'other' },
    })
    expect(again.hashId).toBe(first.hashId)
    const [after] = await app.sql(`SELECT registry_login FROM templates WHERE id = ${plainId(first.id)}`)
    expect(after).not.toEqual(before)
  })

  it('is deleted with its secrets, and can be created again', async () => {
    const going = { ...fullTemplate, name: 'going', env: [{ name: 'TOKEN', value: 'hidden', secret: true }] }
    const saved = await templates.mustCreate(owner, going)
    const secrets = () => app.sql(`SELECT registry_login, secret_env FROM templates WHERE id = ${plainId(saved.id)}`)
    expect(await secrets()).toEqual([{ registry_login: expect.any(Buffer), secret_env: expect.any(Buffer) }])
    expect(await templates.remove(owner, saved.id)).toMatchObject({ deletedId: saved.id })
    expect(await templates.find(owner, saved)).toEqual([null, null, null, null])
    expect(await secrets()).toEqual([{ registry_login: null, secret_env: null }])
    const shown = { templateId: plainId(saved.id), name: 'going', hashId: saved.hashId }
    expect(await eventsOf(saved.id)).toMatchObject([{}, { kind: 'TEMPLATE_DELETED', before: shown, after: null }])
    const missing = { code: 'NOT_FOUND', id: saved.id, message: `Template ${saved.id} not found.` }
    expect(await templates.remove(owner, saved.id)).toMatchObject(missing)
    expect(await templates.update(owner, { id: saved.id })).toMatchObject(missing)
    const again = await templates.mustCreate(owner, going)
    expect(again).toMatchObject({ hashId: saved.hashId })
    expect(again.id).not.toBe(saved.id)
    expect(await templates.create(owner, going)).toMatchObject({ code: 'CONFLICT', conflictId: again.id })
  })
})

it.each(['2147483648', '999999999999'])('no template has the ID %s, which no column can hold', async digits => {
  const id = `tpl_${digits}`
  expect(await templates.find(owner, { id, hashId: '0'.repeat(32) })).toEqual([null, null, null, null])
  for (const change of [templates.remove(owner, id), templates.update(owner, { id })]) {
    expect(await change).toMatchObject({ code: 'NOT_FOUND', id })
  }
})

describe('equal settings', () => {
  it('are a conflict in one account, which names the first template', async () => {
    const { id } = await templates.mustCreate(owner, { name: 'twice' })
    const conflict = {
      code: 'CONFLICT',
      conflictId: id,
      message: 'Another template of the account already has these settings. The values of secrets are not compared.',
    }
    expect(await templates.create(owner, { name: 'twice' })).toMatchObject(conflict)
    const other = await templates.mustCreate(owner, { name: 'not twice' })
    expect(await templates.update(owner, { id: other.id, name: 'twice' })).toMatchObject(conflict)
    expect(await templates.find(owner, other)).toEqual([other, other, other, other])
    expect(await eventsOf(id)).toHaveLength(1)
    expect(await eventsOf(other.id)).toHaveLength(1)
  })

  it('are two templates with two hashes in two accounts', async () => {
    const [mine, other] = [
      await templates.mustCreate(owner, { name: 'both' }),
      await templates.mustCreate(stranger, { name: 'both' }),
    ]
    expect(other.hashId).not.toBe(mine.hashId)
    expect(other.id).not.toBe(mine.id)
  })

  it('become one template in 20 concurrent saves', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => templates.create(owner, { name: 'crowd' })))
    const [made] = answers.filter(({ template }) => template)
    expect(answers.filter(({ template }) => template)).toHaveLength(1)
    const others = answers.filter(({ code }) => code === 'CONFLICT')
    expect(others.map(({ conflictId }) => conflictId)).toEqual(Array(19).fill(made.template.id))
    expect(await eventsOf(made.template.id)).toHaveLength(1)
  })

  it('are accepted in only one of 10 concurrent changes', async () => {
    const ids: string[] = []
    for (let n = 1; n <= 10; n += 1) ids.push((await templates.mustCreate(owner, { name: `changed ${n}` })).id)
    const answers = await Promise.all(ids.map(id => templates.update(owner, { id, name: 'changed' })))
    expect(answers.filter(({ template }) => template)).toHaveLength(1)
    expect(answers.filter(({ code }) => code === 'CONFLICT')).toHaveLength(9)
    const { totalCount } = await templates.list(owner, '(first: 50, filter: { name: { startsWith: "changed" } })')
    expect(totalCount).toBe(10)
  })
})

describe('a request with an idempotency key', () => {
  it('saves once, and gets the first answer when repeated', async () => {
    const input = { ...fullTemplate, name: 'once', idempotencyKey: 'once' }
    const answers = [await templates.create(owner, input), await templates.create(owner, input)]
    expect(answers.map(({ replayed }) => replayed)).toEqual([false, true])
    expect(answers[1].template).toEqual(answers[0].template)
    expect(await eventsOf(answers[0].template.id)).toHaveLength(1)
    const other = { ...input, registry: { ...fullTemplate.registry, password: 'other' } }
    expect(await templates.create(owner, other)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    expect((await templates.create(stranger, input)).replayed).toBe(false)
  })

  it('is refused when repeated after the template was deleted', async () => {
    const input = { name: 'gone', idempotencyKey: 'gone' }
    const { template } = await templates.create(owner, input)
    await templates.remove(owner, template.id)
    expect(await templates.create(owner, input)).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `Template ${template.id} no longer exists. To repeat the request, send a new idempotency key.`,
    })
  })
})

describe('an invalid request', () => {
  it('is refused with all its issues at once, by input field', async () => {
    const { issues } = await templates.create(owner, {
      name: 'a\0',
      image: '',
      public: true,
      mode: { args: { args: ['x\0'] } },
      env: [{ name: 'TOKEN', value: 'hidden', secret: true }],
      registry: { host: 'ghcr.io', username: 'me', password: 'pass' },
      diskGb: 1,
      volumeHint: { mountPath: 'data', sizeGb: -1 },
    })
    expect(issues).toEqual([
      { path: 'name', message: 'must be well-formed Unicode without NUL.' },
      { path: 'image', message: 'must be given.' },
      { path: 'mode.args.args', message: 'must be well-formed Unicode without NUL.' },
      { path: 'diskGb', message: 'must be a number of GB from 8 to 100000, not 1.' },
      { path: 'volumeHint.mountPath', message: 'must be mounted on an absolute path without a colon.' },
      { path: 'volumeHint.sizeGb', message: 'must be a number of GB above 0 and at most 100000, not -1.' },
      ...['registry', 'env.TOKEN'].map(path => ({
        path,
        message: 'is secret and cannot be in a public template, which every account can use.',
      })),
    ])
  })

  it('is refused if it names a template by more or less than one of ID, hash and name', async () => {
    for (const by of ['{}', '{ id: "tpl_1", hashId: "a" }', '{ id: null }']) {
      const { errors } = await app.graphql(owner, `{ template(by: ${by}) { id } }`)
      expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }])
    }
  })

  it('is refused by the database: public secrets, equal hashes, empty names', async () => {
    const { id, hashId } = await templates.mustCreate(owner, { name: 'guarded', public: true })
    const change = (what: string) => app.sql(`UPDATE templates SET ${what} WHERE id = ${plainId(id)}`)
    await expect(change(`registry_login = 'x'`)).rejects.toThrow('templates_keep_secrets_private')
    await expect(change(`secret_env = 'x'`)).rejects.toThrow('templates_keep_secrets_private')
    await expect(change(`name = ''`)).rejects.toThrow('templates_name')
    const { id: other } = await templates.mustCreate(owner, { name: 'other guarded' })
    const taking = app.sql(`UPDATE templates SET hash_id = '${hashId}' WHERE id = ${plainId(other)}`)
    await expect(taking).rejects.toThrow('templates_hash')
  })
})

describe('a template of another account', () => {
  it('is not found if it is private', async () => {
    const saved = await templates.mustCreate(owner, { name: 'private' })
    expect(await templates.find(stranger, saved)).toEqual([null, null, null, null])
    const { nodes } = await templates.list(stranger)
    expect(JSON.stringify(nodes)).not.toContain('private')
    const missing = await templates.remove(stranger, saved.id)
    expect(missing).toMatchObject({ code: 'NOT_FOUND', id: saved.id })
    expect(await templates.update(stranger, { id: saved.id })).toMatchObject({ code: 'NOT_FOUND', id: saved.id })
    expect(await templates.find(owner, saved)).toEqual([saved, saved, saved, saved])
  })

  it('can be read but not changed while it is public', async () => {
    const saved = await templates.mustCreate(owner, { ...fullTemplate, name: 'for all', registry: null, public: true })
    const seen = { ...saved, mine: false }
    expect(await templates.find(stranger, saved)).toEqual([seen, seen, seen, seen])
    expect(await templates.remove(stranger, saved.id)).toMatchObject({ code: 'NOT_FOUND' })
    expect(await templates.update(stranger, { id: saved.id })).toMatchObject({ code: 'NOT_FOUND' })
    await templates.mustUpdate(owner, { id: saved.id, public: false })
    expect(await templates.find(stranger, saved)).toEqual([null, null, null, null])
  })
})

describe('the list of templates', () => {
  it('has own and public templates, by filter', async () => {
    const [a, b] = [await app.newKey(), await app.newKey()]
    for (const [key, name] of [
      [a, 'Mine %'],
      [b, 'theirs'],
    ] as const) {
      await templates.mustCreate(key, { name: `listed ${name} hidden` })
      await templates.mustCreate(key, { name: `listed ${name} shown`, public: true })
    }
    const names = async (filter: string) => {
      const { nodes, totalCount } = await templates.list(
        a,
        `(first: 50, filter: { name: { contains: "LISTED" }, ${filter} })`,
      )
      expect(totalCount).toBe(nodes.length)
      return nodes.map(({ name }: { name: string }) => name.slice('listed '.length))
    }
    expect(await names('')).toEqual(['theirs shown', 'Mine % shown', 'Mine % hidden'])
    expect(await names('mine: true')).toEqual(['Mine % shown', 'Mine % hidden'])
    expect(await names('mine: false')).toEqual(['theirs shown'])
    expect(await names('public: true')).toEqual(['theirs shown', 'Mine % shown'])
    expect(await names('mine: true, public: false')).toEqual(['Mine % hidden'])
    const { nodes } = await templates.list(a, '(filter: { name: { contains: "%" } })')
    expect(nodes).toHaveLength(2)
  })

  it.each([
    ['eq: "Pick ONE"', ['pick one']],
    ['neq: "pick one", startsWith: "PICK"', ['pick two']],
    ['in: ["PICK two", "other"]', ['pick two']],
    ['nin: ["pick TWO"]', ['pick one']],
    ['contains: "k o", eq: null', ['pick one']],
    ['startsWith: "ick"', []],
  ])('has templates whose name fulfills { %s }', async (conditions, expected) => {
    const key = await app.newKey()
    for (const name of ['pick two', 'pick one']) await templates.mustCreate(key, { name })
    const { nodes } = await templates.list(key, `(filter: { mine: true, name: { ${conditions} } })`)
    expect(nodes.map(({ name }: { name: string }) => name)).toEqual(expected)
  })

  it('is refused for names that no template can have, and for too many', async () => {
    const find = (name: object) =>
      app.graphql(owner, 'query ($filter: TemplateFilter) { templates(filter: $filter) { totalCount } }', {
        filter: { name },
      })
    const pathsOf = async (name: object) => {
      const { errors } = await find(name)
      return errors?.[0]?.extensions['issues']
    }
    expect(await pathsOf({ contains: 'a\0' })).toMatchObject([{ path: 'filter.name.contains' }])
    expect(await pathsOf({ in: Array.from({ length: 201 }, (_, n) => `${n}`) })).toMatchObject([
      { path: 'filter.name.in' },
    ])
  })

  it('is read in pages from either end', async () => {
    const key = await app.newKey()
    for (let n = 1; n <= 5; n += 1) await templates.mustCreate(key, { name: `page ${n}` })
    const walk = async (size: string, step: string, end: 'endCursor' | 'startCursor', more: string) => {
      const pages: string[][] = []
      let at = ''
      for (;;) {
        const page = await templates.list(key, `(${size}, filter: { mine: true } ${at})`)
        pages.push(page.nodes.map(({ name }: { name: string }) => name.slice('page '.length)))
        if (!page.pageInfo[more]) return pages
        at = `, ${step}: "${page.pageInfo[end]}"`
      }
    }
    expect(await walk('first: 2', 'after', 'endCursor', 'hasNextPage')).toEqual([['5', '4'], ['3', '2'], ['1']])
    expect(await walk('last: 2', 'before', 'startCursor', 'hasPreviousPage')).toEqual([['2', '1'], ['4', '3'], ['5']])
  })

  it('runs as many statements for 50 templates as for one', async () => {
    const [few, many] = [await app.newKey(), await app.newKey()]
    await templates.mustCreate(few)
    for (let n = 1; n <= 50; n += 1) await templates.mustCreate(many, { ...fullTemplate, name: `many ${n}` })
    const count = async (key: string, rows: number) => {
      const statements = await captureQueries(async () => {
        const { nodes } = await templates.list(key, '(first: 50, filter: { mine: true })')
        expect(nodes).toHaveLength(rows)
      })
      return statements.length
    }
    expect(await count(many, 50)).toBe(await count(few, 1))
  })
})

describe('a key', () => {
  it('without the permission can neither read nor change templates', async () => {
    const reader = await app.newScopedKey(owner, { api: { user_read: {} } })
    const writer = await app.newScopedKey(owner, { api: { user_write: {} } })
    const saved = await templates.mustCreate(writer, { name: 'scoped' })
    expect(await templates.find(reader, saved)).toEqual([saved, saved, saved, saved])
    const refused = async (key: string, query: string, permission: string) => {
      const { errors } = await app.graphql(key, query)
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
      expect(errors?.[0]?.message).toContain(`lacks the permission ${permission}.`)
    }
    await refused(
      reader,
      'mutation { createTemplate(input: { name: "a", image: "b" }) { __typename } }',
      'UPDATE_TEMPLATE of the category USER_WRITE',
    )
    await refused(
      reader,
      `mutation { updateTemplate(input: { id: "${saved.id}" }) { __typename } }`,
      'UPDATE_TEMPLATE of the category USER_WRITE',
    )
    await refused(
      reader,
      `mutation { deleteTemplate(input: { id: "${saved.id}" }) { __typename } }`,
      'DELETE_TEMPLATE of the category USER_WRITE',
    )
    await refused(writer, `{ template(by: { id: "${saved.id}" }) { id } }`, 'TEMPLATE of the category USER_READ')
    await refused(
      writer,
      `{ template(by: { hashId: "${saved.hashId}" }) { id } }`,
      'TEMPLATE of the category USER_READ',
    )
    await refused(writer, '{ template(by: { name: "scoped" }) { id } }', 'TEMPLATE of the category USER_READ')
    await refused(writer, '{ templates { nodes { id } } }', 'TEMPLATES of the category USER_READ')
  })
})
