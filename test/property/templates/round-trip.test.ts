// What is read can be written: settings that are read over GraphQL and sent back change nothing.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { modeSelection } from '../../support/launch/modes.ts'
import { type ReadSettings, settingsInput } from '../../support/launch/settings.ts'
import { readStoredSecrets, templatesOf } from '../../support/templates/templates.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 40)
const options = { seed, numRuns }
const timeout = 60_000 + 2_000 * numRuns

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter(value => !value.includes('\0'))
const directory = fc.constantFrom('/work', '/a b')
const mode = fc.oneof(
  fc.record({ ssh: fc.record({ direct: fc.boolean() }) }),
  fc.record({
    jupyter: fc.record({ direct: fc.boolean(), lab: fc.boolean(), directory: fc.option(directory) }),
  }),
  fc.record({ args: fc.record({ args: fc.array(fc.oneof(text, fc.constant('')), { maxLength: 3 }) }) }),
)
const variable = fc.record({
  name: fc.constantFrom('A', 'B', 'LANG', 'TOKEN', '__proto__'),
  value: text,
  secret: fc.boolean(),
})
const port = fc.record({
  containerPort: fc.constantFrom(22, 80, 8080),
  hostPort: fc.constantFrom(22, 80, 9090),
  protocol: fc.constantFrom('TCP', 'UDP'),
})
const settings = fc.record(
  {
    mode,
    env: fc.array(variable, { maxLength: 4 }),
    ports: fc.array(port, { maxLength: 3 }),
    hostname: fc.constantFrom('box', 'a.b'),
    onStart: text,
    diskGb: fc.constantFrom(8, 20.5),
    registry: fc.record({ host: fc.constant('ghcr.io'), username: text, password: text }),
  },
  { requiredKeys: [] },
)
const more = fc.record(
  {
    description: text,
    readme: text,
    volumeHint: fc.record({ mountPath: fc.constant('/data'), sizeGb: fc.option(fc.constant(10)) }),
  },
  { requiredKeys: [] },
)

it(
  'changes nothing but updatedAt when a template is read and sent back without its secrets',
  async () => {
    const templates = templatesOf(app)
    let count = 0
    const stored = async (id: string) =>
      await app.sql(`SELECT name, hash_id, public, settings FROM templates WHERE id = ${id.slice('tpl_'.length)}`)
    const secretsOf = async (id: string) => await readStoredSecrets(app, Number(id.slice('tpl_'.length)))
    const property = fc.asyncProperty(settings, more, async (launch, rest) => {
      count += 1
      const read = await templates.mustCreate(key, { ...launch, ...rest, name: `template ${count}` })
      const [before, secretsBefore] = [await stored(read.id), await secretsOf(read.id)]
      app.clock.advance(1_000)
      const { hashId: _, mine: __, createdAt: ___, updatedAt: ____, ...fields } = read
      const again = await templates.mustUpdate(key, {
        ...fields,
        ...settingsInput(read as unknown as ReadSettings),
        id: read.id,
      })
      expect(again).toEqual({ ...read, updatedAt: again['updatedAt'] })
      expect(again['updatedAt']).not.toBe(read['updatedAt'])
      expect(await stored(read.id)).toEqual(before)
      expect(await secretsOf(read.id)).toEqual(secretsBefore)
      const renamed = await templates.mustUpdate(key, { id: read.id, name: `renamed ${count}` })
      expect(renamed).toEqual({ ...again, name: `renamed ${count}`, hashId: renamed.hashId })
      expect(await secretsOf(read.id)).toEqual(secretsBefore)
    })
    await fc.assert(property, options)
  },
  timeout,
)

it(
  'gives the same launch when the launch of a quote is read and sent back',
  async () => {
    const offerId = String(await rentalsOf(app).newOffer())
    const fields = `image ${modeSelection} diskGb hostname onStart env { name value secret } ports { containerPort hostPort protocol }`
    const quote = async (spec: object) => {
      const query = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { launch { ${fields} } blockers { message } } }`
      const { data, errors } = await app.graphql(key, query, { input: { offerId, spec } })
      expect(errors).toBeUndefined()
      return data.rentQuote.launch
    }
    const property = fc.asyncProperty(settings, async given => {
      const source = { image: 'ubuntu' }
      // A secret of a rental that has no template cannot be kept: it is sent again.
      const env = given.env?.map(each => ({ ...each, secret: false })) ?? []
      const read = await quote({ source, ...given, env })
      expect(read).not.toBeNull()
      const { image, ...launch } = read
      expect(await quote({ source: { image }, ...launch, ...settingsInput(read) })).toEqual(read)
    })
    await fc.assert(property, options)
  },
  timeout,
)
