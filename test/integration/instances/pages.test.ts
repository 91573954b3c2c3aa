import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string
const ids: number[] = []
let destroyed: number
let machines: number[]
const machineOf = (place: number) => machines[place]

/** The labels and prices of the instances. Some are equal, and some instances have no label. */
const rented = [
  { label: 'b', gpuNanos: 300_000_000n },
  { label: 'a', gpuNanos: 100_000_000n },
  { gpuNanos: 300_000_000n },
  { label: 'b', gpuNanos: 200_000_000n },
  { label: 'Å', gpuNanos: 100_000_000n },
  { gpuNanos: 300_000_000n },
  { label: 'b', gpuNanos: 300_000_000n },
]

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  const other = await app.newKey(null, someCredit)
  for (const { label, gpuNanos } of rented) {
    await rentals.rent(other, { label: 'b' })
    ids.push(await rentals.rent(key, { label }, { gpuNanos }))
  }
  destroyed = await rentals.rent(key, { label: 'b' })
  await app.rest(key, 'DELETE', `/instances/${destroyed}/`)
  machines = []
  for (const id of ids) machines.push((await rentals.read(key, id)).machine_id)
})

afterAll(() => app.close())

async function page(args: object, fields = 'nodes { id }') {
  const { data, errors } = await app.graphql(
    key,
    `query ($first: Int, $last: Int, $after: String, $before: String, $filter: InstanceFilter, $orderBy: InstanceOrder! = {}) {
      instances(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy) { ${fields} }
    }`,
    args,
  )
  return data?.instances ?? errors?.[0]?.extensions
}
const numbersOf = (nodes: { id: string }[]) => nodes.map(({ id }) => Number(id.slice(4)))
const all = async (args: object) => numbersOf((await page({ first: 100, ...args })).nodes)

const orders = ['CREATED_AT', 'PRICE_PER_HOUR', 'LABEL'].flatMap(field =>
  ['ASC', 'DESC'].map(direction => ({ field, direction })),
)
const withCursors = 'edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

describe('instances in an order', () => {
  it.each([
    [{ field: 'CREATED_AT', direction: 'ASC' }, [0, 1, 2, 3, 4, 5, 6]],
    [{ field: 'PRICE_PER_HOUR', direction: 'ASC' }, [1, 4, 3, 0, 2, 5, 6]],
    [{ field: 'PRICE_PER_HOUR', direction: 'DESC' }, [6, 5, 2, 0, 3, 4, 1]],
  ])('of %j have the expected positions', async (orderBy, places) => {
    expect(await all({ orderBy })).toEqual(places.map(place => ids[place]))
  })

  it('of labels begin with instances without a label, and list equal labels oldest first', async () => {
    const found = (await all({ orderBy: { field: 'LABEL', direction: 'ASC' } })).map(id => ids.indexOf(id))
    expect(found.slice(0, 2)).toEqual([2, 5])
    expect(found.filter(place => [0, 3, 6].includes(place))).toEqual([0, 3, 6])
  })

  it('are newest first by default', async () => {
    expect(numbersOf((await page({})).nodes)).toEqual(ids.toReversed())
  })

  describe.each(orders)('$field $direction', orderBy => {
    it.each([1, 2, 3, 7])('are complete forward and backward in pages of %i', async size => {
      const complete = await all({ orderBy })
      const [forward, backward]: [number[], number[]] = [[], []]
      for (let after: string | undefined; ; ) {
        const { edges, pageInfo } = await page({ first: size, after, orderBy }, withCursors)
        forward.push(...numbersOf(edges.map((edge: { node: { id: string } }) => edge.node)))
        expect([pageInfo.hasNextPage, pageInfo.hasPreviousPage]).toEqual([
          forward.length < complete.length,
          after !== undefined,
        ])
        expect(pageInfo.endCursor).toBe(edges.at(-1).cursor)
        if (!pageInfo.hasNextPage) break
        after = pageInfo.endCursor
      }
      for (let before: string | undefined; ; ) {
        const { edges, pageInfo } = await page({ last: size, before, orderBy }, withCursors)
        backward.unshift(...numbersOf(edges.map((edge: { node: { id: string } }) => edge.node)))
        expect(pageInfo.startCursor).toBe(edges[0].cursor)
        if (!pageInfo.hasPreviousPage) break
        before = pageInfo.startCursor
      }
      expect([forward, backward]).toEqual([complete, complete])
    })

    it('refuse the cursor of every other order', async () => {
      const { pageInfo } = await page({ first: 1, orderBy }, withCursors)
      for (const other of orders.filter(
        ({ field, direction }) => field + direction !== orderBy.field + orderBy.direction,
      ))
        expect(await page({ after: pageInfo.endCursor, orderBy: other })).toEqual({
          code: 'INVALID_CURSOR',
          retry: 'AFTER_FIX',
        })
    })
  })

  it.each([
    ['nonsense', 'nonsense'],
    ['nothing', ''],
    ['no position', Buffer.from('["v1","instances by createdAt desc"]').toString('base64url')],
    ['SQL', Buffer.from('["v1","instances by createdAt desc","1; DROP TABLE","1"]').toString('base64url')],
    ['numbers', Buffer.from('["v1","instances by createdAt desc",1,1]').toString('base64url')],
    ['too many values', Buffer.from('["v1","instances by createdAt desc","1","1","1"]').toString('base64url')],
  ])('refuse a cursor with %s', async (_content, after) => {
    expect(await page({ after })).toEqual({ code: 'INVALID_CURSOR', retry: 'AFTER_FIX' })
  })

  it.each([{ first: 0 }, { first: 101 }, { last: 0 }, { first: 1, last: 1 }, { first: 1, before: 'x' }, { first: -1 }])(
    'refuse the page %j',
    async args => {
      expect((await page(args)).code).toBe('BAD_USER_INPUT')
    },
  )

  it('continue after a cursor whose instance was destroyed', async () => {
    const mine = [await rentals.rent(key), await rentals.rent(key)]
    const { pageInfo } = await page({ first: 2 }, withCursors)
    for (const id of mine) await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect(numbersOf((await page({ after: pageInfo.endCursor })).nodes)).toEqual(ids.toReversed())
  })
})

describe('a filter', () => {
  it.each([
    ['asked for by status', () => ({ status: ['DESTROYED'], label: { eq: 'b' } }), () => [destroyed]],
    [
      'asked for by status and id',
      () => ({ status: ['DESTROYED'], ids: [String(ids[0]), String(destroyed)] }),
      () => [destroyed],
    ],
    [
      'asked for among others',
      () => ({ status: ['DESTROYED', 'CREATED'], label: { eq: 'b' } }),
      () => [destroyed, ...[6, 3, 0].map(place => ids[place])],
    ],
    ['named by id', () => ({ ids: [String(destroyed), String(ids[0])] }), () => [destroyed, ids[0]]],
  ])('lists and counts destroyed instances that are %s', async (_how, filter, found) => {
    const { nodes, totalCount } = await page({ filter: filter() }, 'totalCount nodes { id }')
    expect([numbersOf(nodes), totalCount]).toEqual([found(), found().length])
  })

  it.each([
    ['a status without DESTROYED', () => ({ status: ['CREATED'], ids: [String(destroyed)] })],
    ['a label alone', () => ({ label: { eq: 'b' }, targetState: 'STOPPED' })],
  ])('lists no destroyed instance with %s', async (_name, filter) => {
    expect(await all({ filter: filter() })).toEqual([])
  })

  it.each([
    ['an id', () => ({ ids: [`ins_${ids[1]}`, String(ids[2])] }), [1, 2]],
    ['no ids', () => ({ ids: [] }), []],
    ['a label in any case', () => ({ label: { eq: 'B' } }), [0, 3, 6]],
    ['other labels, and none', () => ({ label: { neq: 'b' } }), [1, 2, 4, 5]],
    ['some labels', () => ({ label: { in: ['A', 'å'] } }), [1, 4]],
    ['all but some labels', () => ({ label: { nin: ['b', ''] } }), [1, 4]],
    ['no label', () => ({ label: { eq: '' } }), [2, 5]],
    ['a part of a label', () => ({ label: { contains: 'B' } }), [0, 3, 6]],
    ['the start of a label', () => ({ label: { startsWith: 'A' } }), [1]],
    ['a start that is a pattern in SQL', () => ({ label: { startsWith: '%' } }), []],
    ['a status', () => ({ status: ['CREATED', 'RUNNING'] }), [0, 1, 2, 3, 4, 5, 6]],
    ['another status', () => ({ status: ['EXITED'] }), []],
    ['a target state', () => ({ targetState: 'RUNNING' }), [0, 1, 2, 3, 4, 5, 6]],
    ['another target state', () => ({ targetState: 'STOPPED' }), []],
    ['a rental kind', () => ({ rentalKind: 'ON_DEMAND' }), [0, 1, 2, 3, 4, 5, 6]],
    ['another rental kind', () => ({ rentalKind: 'INTERRUPTIBLE' }), []],
    ['a GPU in any case', () => ({ gpuName: { eq: 'rtx 4090' } }), [0, 1, 2, 3, 4, 5, 6]],
    ['a number of GPUs', () => ({ numGpus: { gt: 1 } }), []],
    ['a machine', () => ({ machineId: { in: [`mch_${machineOf(2)}`, String(machineOf(4))] } }), [2, 4]],
    ['other machines', () => ({ machineId: { nin: [`mch_${machineOf(2)}`] } }), [0, 1, 3, 4, 5, 6]],
    ['a template', () => ({ templateId: 'tpl_987654' }), []],
    ['a template hash', () => ({ templateHashId: 'none' }), []],
    ['a time in the past', () => ({ createdAt: { lt: '2020-01-01T00:00:00Z' } }), []],
    ['a time from then on', () => ({ createdAt: { gte: '2020-01-01T00:00:00Z' } }), [0, 1, 2, 3, 4, 5, 6]],
    ['several parts', () => ({ label: { eq: 'b' }, ids: [String(ids[0]), String(ids[1])] }), [0]],
    ['null, which counts as absent', () => ({ label: null, ids: null, status: null }), [0, 1, 2, 3, 4, 5, 6]],
  ])('by %s finds and counts the matches', async (_name, filter, places) => {
    const { nodes, totalCount } = await page({ first: 100, filter: filter() }, 'totalCount nodes { id }')
    expect(numbersOf(nodes).toSorted((a, b) => a - b)).toEqual(places.map(place => ids[place]))
    expect(totalCount).toBe(places.length)
  })

  it.each([
    [{ ids: Array(1_001).fill('1') }, 'filter.ids'],
    [{ ids: ['1', 'off_1'] }, 'filter.ids.1'],
    [{ label: { eq: 'a\0' } }, 'filter.label.eq'],
    [{ gpuName: { in: ['a', '\ud800'] } }, 'filter.gpuName.in'],
    [{ label: { nin: Array(201).fill('a') } }, 'filter.label.nin'],
    [{ machineId: { in: ['mch_1', 'ins_1'] } }, 'filter.machineId.in.1'],
    [{ templateId: 'ins_1' }, 'filter.templateId'],
    [{ createdAt: { gt: '2026-01-01T00:00:00Z', lt: '2025-01-01T00:00:00Z' } }, 'filter.createdAt'],
  ])('of %j is refused with its path', async (filter, path) => {
    const { code, issues } = await page({ filter })
    expect([code, issues[0].path]).toEqual(['BAD_USER_INPUT', expect.stringContaining(path)])
  })
})

describe('totalCount', () => {
  it('counts all pages, and only when it is requested', async () => {
    expect(await page({ first: 2, filter: { label: { eq: 'b' } } }, 'totalCount')).toEqual({ totalCount: 3 })
    const counted = (await captureQueries(() => page({ first: 1 }))).filter(text => /count\(\*\)/.test(text))
    expect(counted).toEqual([])
  })
})
