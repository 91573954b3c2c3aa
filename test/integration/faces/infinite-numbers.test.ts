// A number in a GraphQL document or in JSON can exceed the range of a double. JavaScript parses it as Infinity, which
// cannot be stored, compared with a column or printed as a number.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let key: string
let offer: number

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
  offer = await rentalsOf(app).newOffer()
})

afterAll(() => app.close())

const infinite = ['1e400', '-1e400', `1${'0'.repeat(400)}`]
const numbers = infinite.map(number => [number.slice(0, 10), number] as const)
const refused = '... on Error { code }'
const volume = (size: string) => `{ source: { create: { sizeGb: ${size} } }, mountPath: "/x" }`
const spec = (rest: string) => `spec: { source: { image: "u" }, ${rest} }`
const constraint = (number: string) => `{ parameter: "sizeGb", operator: LTE, value: { number: ${number} } }`

it.each(numbers)('refuses %s wherever GraphQL takes a number', async (_, number) => {
  const operations = [
    `{ offers(filter: { gpuFraction: { lte: ${number} } }) { nodes { id } } }`,
    `{ offers(filter: { or: [{ freeDiskGb: { in: [1, ${number}] } }] }) { nodes { id } } }`,
    `query ($x: Float = ${number}) { offers(filter: { availableSeconds: { gte: $x } }) { nodes { id } } }`,
    `{ offers(pricing: { diskGb: ${number} }) { nodes { id } } }`,
    `{ volumeOffers(sizeGb: ${number}) { nodes { id } } }`,
    `{ volumeOffers(filter: { diskReadMegabytesPerSecond: { gte: ${number} } }) { nodes { id } } }`,
    `mutation { createVolume(input: { offerId: "vof_1", sizeGb: ${number} }) { ${refused} } }`,
    `mutation { rentInstance(input: { offerId: "${offer}", ${spec(`diskGb: ${number}`)} }) { ${refused} } }`,
    `mutation { rentInstance(input: { offerId: "${offer}", ${spec(`volumes: [${volume(number)}]`)} }) { ${refused} } }`,
    `{ rentQuote(input: { offerId: "${offer}", ${spec(`diskGb: ${number}`)} }) { blockers { ${refused} } } }`,
    `mutation { rentBestOffer(input: { filter: { cpuGhz: { gte: ${number} } }, terms: { onDemand: { maxPricePerHour: "1" } }, ${spec('')} }) { ${refused} } }`,
    `mutation { createTemplate(input: { name: "x", image: "u", diskGb: ${number} }) { ${refused} } }`,
    `mutation { createTemplate(input: { name: "x", image: "u", volumeHint: { mountPath: "/x", sizeGb: ${number} } }) { ${refused} } }`,
    `mutation { createApiKey(input: { name: "x", permissions: [
      { operation: { operation: CREATE_VOLUME, constraints: [${constraint(number)}] } }] }) { ${refused} } }`,
  ]
  for (const operation of operations) {
    const { data, errors } = await app.graphql(key, operation)
    const answer: unknown = data && Object.values(data)[0]
    const { code = errors?.[0]?.extensions['code'], blockers } = (answer ?? {}) as Record<string, unknown>
    expect([operation, blockers ?? code]).toEqual([
      operation,
      blockers ? [{ code: 'INVALID_INPUT' }] : answer ? 'INVALID_INPUT' : 'BAD_USER_INPUT',
    ])
  }
  expect(app.logLines.filter(({ level }) => Number(level) >= 50)).toEqual([])
})

it.each([...numbers, ['"1e400"', '"1e400"'] as const])('refuses %s wherever REST takes a number', async (_, number) => {
  const requests = [
    ['POST', '/bundles/', `{"gpu_ram": {"gte": ${number}}}`],
    ['POST', '/bundles/', `{"cpu_cores": {"in": [1, ${number}]}}`],
    ['POST', '/bundles/', `{"dph_total": {"lte": ${number}}}`],
    ['POST', '/bundles/', `{"duration": {"lte": ${number}}}`],
    ['POST', '/bundles/', `{"id": {"eq": ${number}}}`],
    ['POST', '/bundles/', `{"allocated_storage": ${number}}`],
    ['POST', '/bundles/', `{"limit": ${number}}`],
    ['PUT', `/asks/${offer}/`, `{"image": "u", "disk": ${number}}`],
    ['PUT', `/asks/${offer}/`, `{"image": "u", "price": ${number}}`],
    ['PUT', `/asks/${offer}/`, `{"image": "u", "volume_info": {"create_new": true, "size": ${number}}}`],
    ['PUT', '/instances/', `{"ids": [${number}], "state": "stopped"}`],
  ] as const
  for (const [method, path, body] of requests) {
    const { status, body: answer } = await app.rest(key, method, path, body)
    expect([body, status, answer.error]).toEqual([body, 400, 'invalid_args'])
  }
  expect(app.logLines.filter(({ level }) => Number(level) >= 50)).toEqual([])
})
