// The template of an instance, and the source of each of its settings.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let rentals: Rentals
let templates: ReturnType<typeof templatesOf>
let owner: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  templates = templatesOf(app)
  owner = await app.newKey(null, someCredit)
  stranger = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Marks an instance as rented with a template. */
async function markWithTemplate(id: number, template: { id: string; hashId: string }) {
  await app.sql(`UPDATE instances SET template_id = ${template.id.slice(4)}, template_hash = '${template.hashId}'
    WHERE id = ${id}`)
}

const sources = 'image mode lab directory args hostname onStart registry diskGb'

describe('the settings of an instance', () => {
  it('show their sources', async () => {
    const id = await rentals.rent(owner, {
      runtype: 'ssh_direct',
      onstart: 'go',
      env: { A: '1', '-p 80:80/udp': '1' },
      lang_utf8: true,
    })
    const { data } = await app.graphql(
      owner,
      `{ instance(id: ${id}) { template { id } templateHashId launch { env { name value secret source }
        ports { hostPort containerPort protocol source } sources { ${sources} } } } }`,
    )
    const source = 'REQUEST'
    expect(data.instance).toEqual({
      template: null,
      templateHashId: null,
      launch: {
        env: [
          { name: 'A', value: '1', secret: false, source },
          { name: 'LANG', value: 'C.UTF-8', secret: false, source },
          { name: 'LC_ALL', value: 'C.UTF-8', secret: false, source },
        ],
        ports: [
          { hostPort: 22, containerPort: 22, protocol: 'TCP', source },
          { hostPort: 80, containerPort: 80, protocol: 'UDP', source },
        ],
        sources: {
          ...Object.fromEntries(sources.split(' ').map(name => [name, 'DEFAULT'])),
          ...{ image: source, mode: source, onStart: source },
        },
      },
    })
  })

  it('have the same sources over both faces when only the image is requested', async () => {
    const offerId = await rentals.newOffer()
    const { data } = await app.graphql(
      owner,
      `mutation { rentInstance(input: { offerId: ${offerId}, spec: { source: { image: "ubuntu" } } }) {
        ... on RentInstanceSuccess { instance { id } } } }`,
    )
    const ids = [await rentals.rent(owner), data.rentInstance.instance.id.slice(4)]
    const rows = await app.sql(`SELECT launch->'sources' AS sources FROM instances WHERE id IN (${ids})`)
    expect(rows).toEqual([{ sources: { image: 'request' } }, { sources: { image: 'request' } }])
  })

  it('never show the value of a secret variable, even if the row has it', async () => {
    const id = await rentals.rent(owner, { env: { TOKEN: 'hidden' } })
    await app.sql(`UPDATE instances SET launch = jsonb_set(launch, '{env,0,secret}', 'true') WHERE id = ${id}`)
    const { data } = await app.graphql(owner, `{ instance(id: ${id}) { launch { env { name value secret } } } }`)
    expect(data.instance.launch.env).toEqual([{ name: 'TOKEN', value: null, secret: true }])
    expect((await rentals.read(owner, id)).extra_env).toEqual([['TOKEN', '']])
  })
})

describe('an invalid template hash', () => {
  it.each(['no hash', 'a\0', '\ud800', 'f'.repeat(33), 'F'.repeat(32), 'x'.repeat(300)])(
    'is not found, without a query of templates: %j',
    async hashId => {
      const offerId = await rentals.newOffer()
      const input = { offerId, spec: { source: { template: { by: { hashId } } } } }
      const best = { spec: input.spec, terms: { onDemand: { maxPricePerHour: '9' } }, filter: {} }
      const statements = await captureQueries(async () => {
        const rent = `mutation ($input: RentInstanceInput!, $best: RentBestOfferInput!) {
          rentInstance(input: $input) { ... on Error { code message } }
          rentBestOffer(input: $best) { ... on Error { code } } }`
        const { data } = await app.graphql(owner, rent, { input, best })
        const message = 'Template not found: its hash must be 32 hex digits.'
        expect(data).toEqual({ rentInstance: { code: 'NOT_FOUND', message }, rentBestOffer: { code: 'NOT_FOUND' } })
        const find = 'query ($hashId: String!) { template(by: { hashId: $hashId }) { id } }'
        expect((await app.graphql(owner, find, { hashId })).data).toEqual({ template: null })
        const { status, body } = await app.rest(owner, 'PUT', `/asks/${offerId}/`, { template_hash_id: hashId })
        expect([status, body.msg]).toEqual([404, message])
      })
      expect(statements.filter(statement => /FROM templates/.test(statement))).toEqual([])
    },
  )
})

describe('a rental with a template', () => {
  const rent = (offer: number, hashId: string) => rentBy(owner, offer, { hashId })
  async function rentBy(key: string, offer: number, by: object, more: object = {}) {
    const spec = { source: { template: { by } } }
    const { data } = await app.graphql(
      key,
      `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { ... on Error { code message }
        ... on InvalidInputError { issues { path } } ... on NotFoundError { id }
        ... on RentInstanceSuccess { instance { id templateHashId template { id } launch { image onStart env { name value } } } } } }`,
      { input: { offerId: String(offer), spec, ...more } },
    )
    return data.rentInstance
  }

  it('has the hash in its event, and a rental without a template has no hash', async () => {
    const { hashId } = await templates.mustCreate(owner, { name: 'named' })
    const ids = [(await rent(await rentals.newOffer(), hashId)).instance.id.slice(4), await rentals.rent(owner)]
    const events = await app.sql(`SELECT after->'templateHash' AS hash FROM events
      WHERE kind = 'INSTANCE_CREATED' AND instance_id IN (${ids}) ORDER BY instance_id`)
    expect(events).toEqual([{ hash: hashId }, { hash: null }])
  })

  it('works with rentBestOffer', async () => {
    const { hashId } = await templates.mustCreate(owner, { name: 'best', image: 'torch', onStart: 'go' })
    await rentals.newOffer()
    const spec = { source: { template: { by: { hashId } } } }
    const { data } = await app.graphql(
      owner,
      `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) {
        ... on RentBestOfferSuccess { instance { templateHashId launch { image onStart } } } } }`,
      { input: { filter: {}, terms: { onDemand: { maxPricePerHour: '10' } }, spec } },
    )
    const { instance } = data.rentBestOffer
    expect(instance).toEqual({ templateHashId: hashId, launch: { image: 'torch', onStart: 'go' } })
  })

  it('keeps its settings when the template is changed and deleted', async () => {
    const first = { name: 'kept', image: 'torch', onStart: 'one', env: [{ name: 'A', value: '1' }] }
    const { id, hashId } = await templates.mustCreate(owner, first)
    const { instance } = await rent(await rentals.newOffer(), hashId)
    await templates.mustUpdate(owner, { id, name: 'changed', image: 'ubuntu', env: [{ name: 'A', value: '2' }] })
    await templates.remove(owner, id)
    const query = `{ instance(id: "${instance.id}") { templateHashId template { id } launch { image onStart env { name value } } } }`
    const launch = { image: 'torch', onStart: 'one', env: [{ name: 'A', value: '1' }] }
    expect((await app.graphql(owner, query)).data.instance).toEqual({ templateHashId: hashId, template: null, launch })
  })

  it('is refused if the template is changed while the rental waits for its machine: a hash names one version', async () => {
    const first = { name: 'first', image: 'torch', onStart: 'one', env: [{ name: 'A', value: '1' }] }
    const { id, hashId } = await templates.mustCreate(owner, first)
    const offer = await rentals.newOffer()
    const answer = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = (SELECT machine_id FROM offers WHERE id = $1) FOR UPDATE', [
        offer,
      ])
      const renting = rent(offer, hashId)
      await waitForLockWaiters(session)
      await templates.mustUpdate(owner, { id, name: 'second', image: 'ubuntu', env: [{ name: 'A', value: '2' }] })
      await session.query('COMMIT')
      return await renting
    })
    expect(answer).toMatchObject({ code: 'NOT_FOUND' })
    expect(await rent(offer, hashId)).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('names it by its ID, by its name or by its hash', async () => {
    const { id, hashId } = await templates.mustCreate(owner, { name: 'three ways', image: 'torch', onStart: 'go' })
    for (const by of [{ id }, { id: id.slice(4) }, { name: 'three ways' }, { hashId }]) {
      const { instance } = await rentBy(owner, await rentals.newOffer(), by)
      expect(instance).toMatchObject({ templateHashId: hashId, template: { id }, launch: { onStart: 'go' } })
    }
  })

  it('is repeated with the same idempotency key, however it names the template', async () => {
    const { id } = await templates.mustCreate(owner, { name: 'repeated' })
    for (const [idempotencyKey, by] of Object.entries({ repeatedById: { id }, repeatedByName: { name: 'repeated' } })) {
      const offer = await rentals.newOffer()
      const first = await rentBy(owner, offer, by, { idempotencyKey })
      expect(first.instance.id).toMatch(/^ins_/)
      expect((await rentBy(owner, offer, by, { idempotencyKey })).instance.id).toBe(first.instance.id)
    }
  })

  it("finds another account's template by ID only while it is public, and never by name", async () => {
    const { id } = await templates.mustCreate(owner, { name: 'lent', public: true })
    const offer = await rentals.newOffer()
    expect(await rentBy(stranger, offer, { name: 'lent' })).toEqual({
      code: 'NOT_FOUND',
      message: 'Your account has no template with the name "lent".',
      id: null,
    })
    expect(await rentBy(stranger, offer, { id })).toMatchObject({ instance: { template: { id } } })
    await templates.mustUpdate(owner, { id, public: false })
    const refused = { code: 'NOT_FOUND', message: `Template ${id} not found.`, id }
    expect(await rentBy(stranger, await rentals.newOffer(), { id })).toEqual(refused)
  })

  it.each([{ id: 'ins_1' }, { id: 'tpl_x' }])('refuses %j at the path of the ID', async by => {
    const answer = await rentBy(owner, await rentals.newOffer(), by)
    expect(answer).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'spec.source.template.by.id' }] })
  })

  it.each(['', 'a\0', '\ud800', 'none'])('finds none with the name %j', async name => {
    expect(await rentBy(owner, await rentals.newOffer(), { name })).toMatchObject({ code: 'NOT_FOUND', id: null })
  })

  it('is refused, and its quote is blocked, if several templates have the name', async () => {
    await templates.mustCreate(owner, { name: 'twin', image: 'one' })
    await templates.mustCreate(owner, { name: 'twin', image: 'two' })
    const offer = await rentals.newOffer()
    const message = expect.stringContaining('is the name of several templates of your account')
    const issues = [{ path: 'spec.source.template.by.name' }]
    expect(await rentBy(owner, offer, { name: 'twin' })).toEqual({ code: 'INVALID_INPUT', message, issues })
    const { data, errors } = await app.graphql(
      owner,
      `query ($input: RentInstanceInput!) { rentQuote(input: $input) { rentable
        blockers { code ... on InvalidInputError { issues { path } } } } }`,
      { input: { offerId: String(offer), spec: { source: { template: { by: { name: 'twin' } } } } } },
    )
    expect(errors).toBeUndefined()
    expect(data.rentQuote).toEqual({ rentable: false, blockers: [{ code: 'INVALID_INPUT', issues }] })
  })
})

describe('the template of an instance', () => {
  const read = async (key: string, id: number) => {
    const { data, errors } = await app.graphql(key, `{ instance(id: ${id}) { template { id name } templateHashId } }`)
    return { ...data.instance, errors }
  }

  it('is shown as it is now, with the hash of the rental', async () => {
    const template = await templates.mustCreate(owner, { name: 'before' })
    const id = await rentals.rent(owner)
    await markWithTemplate(id, template)
    const changed = await templates.mustUpdate(owner, { id: template.id, name: 'after' })
    expect(changed.hashId).not.toBe(template.hashId)
    const shown = { id: template.id, name: 'after' }
    expect(await read(owner, id)).toEqual({ template: shown, templateHashId: template.hashId, errors: undefined })
    await templates.remove(owner, template.id)
    expect(await read(owner, id)).toEqual({ template: null, templateHashId: template.hashId, errors: undefined })
  })

  it('shows the effect of earlier mutations in the same request', async () => {
    const template = await templates.mustCreate(owner, { name: 'old', image: 'one' })
    const { id } = template
    const instance = await rentals.rent(owner)
    await markWithTemplate(instance, template)
    const label = (text: string) => `updateInstance(input: { id: "${instance}", label: "${text}" }) {
      ... on UpdateInstanceSuccess { instance { template { name } } } }`
    const { data, errors } = await app.graphql(
      owner,
      `mutation { a: ${label('a')}
        b: updateTemplate(input: { id: "${id}", name: "new", image: "two" }) { __typename } c: ${label('c')}
        d: deleteTemplate(input: { id: "${id}" }) { __typename } e: ${label('e')} }`,
    )
    expect(errors).toBeUndefined()
    expect([data.a, data.c, data.e].map(({ instance }) => instance.template)).toEqual([
      { name: 'old' },
      { name: 'new' },
      null,
    ])
  })

  it('of another account is shown while it is public', async () => {
    const template = await templates.mustCreate(owner, { name: 'shared', public: true })
    const id = await rentals.rent(stranger)
    await markWithTemplate(id, template)
    expect(await read(stranger, id)).toMatchObject({ template: { id: template.id } })
    await templates.mustUpdate(owner, { id: template.id, public: false })
    expect(await read(stranger, id)).toMatchObject({ template: null, templateHashId: template.hashId })
  })

  it('needs the permission to read templates', async () => {
    const template = await templates.mustCreate(owner, { name: 'unread' })
    const id = await rentals.rent(owner)
    await markWithTemplate(id, template)
    const key = await app.newScopedKey(owner, { api: { instance_read: {} } })
    const { template: shown, templateHashId, errors } = await read(key, id)
    expect([shown, templateHashId]).toEqual([null, template.hashId])
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' }, path: ['instance', 'template'] }])
  })

  it('runs as many statements for 20 instances as for one', async () => {
    const [few, many] = [await app.newKey(null, someCredit), await app.newKey(null, someCredit)]
    for (const [key, count] of [
      [few, 1],
      [many, 20],
    ] as const) {
      for (let n = 1; n <= count; n += 1) {
        await markWithTemplate(await rentals.rent(key), await templates.mustCreate(key, { name: `template ${n}` }))
      }
    }
    const count = async (key: string, rows: number) => {
      const statements = await captureQueries(async () => {
        const { data } = await app.graphql(key, '{ instances { nodes { template { name } } } }')
        expect(data.instances.nodes.filter(({ template }: { template: unknown }) => template)).toHaveLength(rows)
      })
      return statements.length
    }
    expect(await count(many, 20)).toBe(await count(few, 1))
  })
})
