// Generates valid, nearly valid and invalid requests from the OpenAPI document.

import fc, { type Arbitrary } from 'fast-check'
import type { Route } from '../../../src/rest/route.ts'
import { routes } from '../../../src/rest/routes.ts'
import type { FullAccount } from '../accounts/full-account.ts'
import { routeCases } from '../faces/isolation.ts'
import type { JsonSchema, OpenApiDocument } from './answer-checker.ts'
import type { Example } from './examples.ts'

/** The data that requests can name. `example` is a request that succeeds. */
export type GeneratorContext = { document: OpenApiDocument; stock: FullAccount; example: Example }

export type GeneratedRequest = {
  method: string
  target: string
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
}

/** Numbers at the limits of columns, doubles and rules. */
const boundaryNumbers = [
  ...[0, -0, 1, -1, 0.5, 0.001, 7.999, 8, 64, 65, 128, 128.001, 257, 4_048, 65_535, 65_536],
  ...[2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2 ** 53, 2 ** 63, 1e18, 1e21, 5e-324, 1.7976931348623157e308],
]
const oddTexts = [
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udfff', '\ufeff', '\u202e', '\u2028', '😀', 'é', 'e\u0301', 'ß'.repeat(300)],
  ...['null', 'true', 'NaN', '1e400', '0x10', '١', '-1', '9'.repeat(19), '9'.repeat(400), '{}', '[]', '["x"]', '{"a"'],
  ...["' OR 1=1 --", '%', '_', '\\', '$1', '{{7*7}}', '../../etc/passwd', '<b>', '\r\nX: y', 'x'.repeat(5_000)],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'undefined'],
]
const oddText = fc.oneof(fc.constantFrom(...oddTexts), fc.string({ unit: 'binary', maxLength: 8 }), loneSurrogates())

/** Strings with lone surrogates, which JSON can hold and UTF-8 cannot. */
function loneSurrogates(): Arbitrary<string> {
  const unit = fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code))
  return fc.array(unit, { maxLength: 6 }).map(units => units.join(''))
}

/** Nested lists and objects, around the depth limits and far beyond. */
const deepNesting = fc.constantFrom(3, 9, 10, 11, 500).map(levels => {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { eq: value }
  return value
})

const anyJson: Arbitrary<unknown> = fc.oneof(
  oddText,
  fc.constantFrom<unknown>(null, true, false, {}, [], [null], [[]], { eq: null }, { gte: 0 }, ...boundaryNumbers),
  fc.jsonValue({ maxDepth: 2 }),
  deepNesting,
)

/** Values of a schema. With `mayBeInvalid`, some parts of them do not match it. */
function valueArbitrary(schema: JsonSchema, from: GeneratorContext, mayBeInvalid: boolean): Arbitrary<unknown> {
  const fitting = validValueArbitrary(schema, from, mayBeInvalid)
  return mayBeInvalid ? fc.oneof({ weight: 8, arbitrary: fitting }, { weight: 1, arbitrary: anyJson }) : fitting
}

function validValueArbitrary(schema: JsonSchema, from: GeneratorContext, mayBeInvalid: boolean): Arbitrary<unknown> {
  const { $ref, allOf, anyOf, items, minimum = -2, maximum = 2 ** 31, pattern } = schema
  if ($ref)
    return valueArbitrary(
      from.document.components.schemas[$ref.split('/').at(-1) as string] as JsonSchema,
      from,
      mayBeInvalid,
    )
  if (allOf) {
    const parts = allOf.map(part => validValueArbitrary(part, from, mayBeInvalid))
    return fc.tuple(...parts).map(values => Object.assign({}, ...values.filter(value => typeof value === 'object')))
  }
  if (anyOf) return fc.oneof(...anyOf.map(part => valueArbitrary(part, from, mayBeInvalid)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map(type => validValueArbitrary({ ...schema, type }, from, mayBeInvalid)))
  }
  const bounds = [minimum, maximum].filter(Number.isSafeInteger)
  const usual = boundaryNumbers.filter(given => given >= minimum && given <= maximum)
  switch (schema.type) {
    case 'integer':
      return fc.constantFrom(...from.stock.ids, ...bounds, ...usual.filter(Number.isInteger))
    case 'number':
      return fc.oneof(
        fc.constantFrom(8, 0.4, 10, ...bounds, ...usual),
        fc.double({ noNaN: true, min: minimum, max: maximum }),
      )
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return pattern ? fc.stringMatching(new RegExp(pattern)) : fc.oneof(fc.constantFrom(...from.stock.texts), oddText)
    case 'array':
      return fc.array(valueArbitrary(items ?? {}, from, mayBeInvalid), {
        minLength: schema.minItems ?? 0,
        maxLength: 4,
      })
    case 'object':
      return objectArbitrary(schema, from, mayBeInvalid)
    default:
      return fc.oneof(fc.constantFrom(...from.stock.texts, ...from.stock.ids), anyJson)
  }
}

function objectArbitrary(schema: JsonSchema, from: GeneratorContext, mayBeInvalid: boolean): Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const members = Object.entries(properties).map(
    ([name, member]) => [name, valueArbitrary(member, from, mayBeInvalid)] as const,
  )
  // Picks few of many members, so that one invalid member does not always hide the valid ones.
  const known = fc
    .subarray(members, { maxLength: Math.min(members.length, 5) })
    .chain(chosen => fc.record(Object.fromEntries([...chosen, ...members.filter(([name]) => required.includes(name))])))
  const value =
    typeof additionalProperties === 'object' ? valueArbitrary(additionalProperties, from, mayBeInvalid) : anyJson
  const name = fc.oneof(fc.constantFrom(...from.stock.texts), oddText)
  const others = fc.array(fc.tuple(name, value), { maxLength: 2 })
  const allowsOthers = mayBeInvalid || additionalProperties !== undefined
  if (!allowsOthers) return known
  return fc.oneof(
    { weight: members.length > 0 ? 3 : 1, arbitrary: known },
    {
      weight: 1,
      arbitrary: fc.tuple(others, known).map(([more, given]) => ({ ...Object.fromEntries(more), ...given })),
    },
  )
}

const malformedBodies: (string | Uint8Array<ArrayBuffer>)[] = [
  ...['', ' ', 'null', '[]', '7', '"text"', '{', '{"a":}', "{'a':1}", '\ufeff{}', '{"a":1}{"b":2}', 'a=1&b=2', '\0'],
  ...['{"id":1e400}', '{"id":NaN}', '{"id":9007199254740993}', '{"label":"a","label":"b"}', '{"__proto__":{"id":1}}'],
  ...['['.repeat(40_000), `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`, `{"label":"${'x'.repeat(100_000)}"}`],
  ...[Uint8Array.of(0x7b, 0xff, 0x7d), Uint8Array.of(0xff, 0xfe, 0x7b, 0, 0x7d, 0)],
]

function bodyArbitrary(schema: JsonSchema | undefined, from: GeneratorContext): Arbitrary<GeneratedRequest['body']> {
  const written = (mayBeInvalid: boolean) => validValueArbitrary(schema ?? {}, from, mayBeInvalid)
  const alone = fc.constant<unknown>(from.example.body)
  const beside = fc.tuple(fc.boolean().chain(written), fc.constantFrom('before', 'after')).map(([given, place]) => {
    const [more, own] = [typeof given === 'object' ? given : {}, from.example.body]
    return place === 'before' ? { ...more, ...own } : { ...own, ...more }
  })
  return fc.oneof(
    { weight: 1, arbitrary: alone.map(body => JSON.stringify(body)) },
    { weight: 8, arbitrary: fc.oneof(beside, written(false), written(true)).map(body => JSON.stringify(body)) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, ...malformedBodies) },
  )
}

const malformedIds = [
  '0',
  '-1',
  '1.5',
  'x',
  '%00',
  '%ED%A0%80',
  '%zz',
  '%2F',
  '%20',
  '1%2F',
  '9'.repeat(18),
  '9'.repeat(19),
]

function targetArbitrary({ method, path }: Route, from: GeneratorContext): Arbitrary<string> {
  const { stock, document } = from
  const kind = routeCases[`${method} ${path}`]?.of
  const liveIds = fc.constantFrom(...(kind ? stock.idsByKind[kind] : stock.ids), ...stock.ids).map(String)
  const segments = path
    .split('/')
    .map(segment =>
      segment.startsWith('{')
        ? fc.oneof(
            { weight: 6, arbitrary: liveIds },
            { weight: 1, arbitrary: fc.constantFrom('987654321', ...malformedIds) },
          )
        : fc.constant(segment),
    )
  const named = document.paths[path]?.[method.toLowerCase()]?.parameters?.filter(given => given.in === 'query') ?? []
  const queries = named.map(({ name, schema }) => {
    const value = fc.oneof(
      validValueArbitrary(schema, from, true),
      fc.constantFrom(...stock.texts),
      // JSON in a query parameter: filters, orders and columns.
      validValueArbitrary(document.components.schemas['OfferSearch'] as JsonSchema, from, true),
    )
    return fc.option(value, { nil: undefined }).map(given => ({ name, given }))
  })
  const extra = fc.tuple(oddText, oddText).map(([name, given]) => ({ name, given }))
  const query = fc
    .tuple(...queries, fc.option(extra, { freq: 4, nil: { name: '', given: undefined } }))
    .map(pairs =>
      pairs
        .filter(({ given }) => given !== undefined)
        .map(
          ({ name, given }) =>
            `${encodeText(name)}=${encodeText(typeof given === 'string' ? given : JSON.stringify(given))}`,
        ),
    )
  const own = new URL(from.example.path.replace(/^(?!\/api)/, '/api/v0'), 'http://berth.test')
  const paths = fc.oneof(
    fc.constant(own.pathname),
    fc.tuple(...segments).map(parts => parts.join('/')),
  )
  const pairsOf = fc.oneof(
    { weight: 1, arbitrary: fc.constant(own.search ? [own.search.slice(1)] : []) },
    { weight: 3, arbitrary: query },
  )
  return fc.tuple(paths, fc.boolean(), pairsOf).map(([path, slash, pairs]) => {
    const pathname = path.replace(/\/$/, '')
    return `${pathname}${slash ? '/' : ''}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
  })
}

function encodeText(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

const acceptedTypes = ['application/json', 'application/json', 'application/json; charset=utf-8', 'text/plain', 'x']
const refusedTypes: Record<string, string>[] = [
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-encoding': 'gzip' },
]
const mostlyFrom = <Value>(usual: Value[], rare: Value[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constantFrom(...rare) })

function headerArbitrary({ keys }: FullAccount): Arbitrary<Record<string, string>> {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const key = mostlyFrom<Record<string, string>>(
    [bearer(keys.whole)],
    [bearer(keys.scoped), bearer('x'), { authorization: 'Basic eDp5' }, bearer(`${keys.whole}0`), {}],
  )
  const type = mostlyFrom<Record<string, string>>(
    [...acceptedTypes.map(value => ({ 'content-type': value })), {}],
    refusedTypes,
  )
  const idempotencyHeader = mostlyFrom<Record<string, string>>(
    [{}],
    ['again', 'x'.repeat(256), '', '\u00e9'].map(value => ({ 'idempotency-key': value })),
  )
  return fc.tuple(key, type, idempotencyHeader).map(parts => Object.assign({}, ...parts))
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']

/** Requests to a route. Most of them pass the first checks. */
export function requestArbitrary(route: Route, from: GeneratorContext): Arbitrary<GeneratedRequest> {
  const { method, path } = route
  const schema = from.document.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json'].schema
  return fc
    .record({
      method: fc.oneof({ weight: 20, arbitrary: fc.constant(method as string) }, fc.constantFrom(...methods)),
      target: targetArbitrary(route, from),
      headers: headerArbitrary(from.stock),
      body: bodyArbitrary(schema, from),
    })
    .map(({ body, ...sent }) => (sent.method === 'GET' || body === undefined ? sent : { ...sent, body }))
}

export const everyRoute = routes.map(route => [`${route.method} ${route.path}`, route] as const)
