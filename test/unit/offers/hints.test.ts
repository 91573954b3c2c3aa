import { describe, expect, it } from 'vitest'
import {
  type Condition,
  inRegions,
  maxOperands,
  type OfferFilter,
  parseCondition,
} from '../../../src/domain/offers/filter.ts'
import { hintsOf, memoryHints } from '../../../src/domain/offers/hints.ts'
import { namesOf, unknownNameIssues, unknownNames } from '../../../src/domain/offers/names.ts'
import { shareProblem } from '../../../src/domain/offers/shares.ts'

const stored = (...models: string[]) => ({
  gpuName: namesOf(models),
  city: namesOf(['Oslo', 'Malmö', 'Berlin', 'Porto']),
})
const names = stored('RTX 4090', 'H100 SXM', 'H100 PCIe', 'L40S')
const filterBy = (...conditions: Condition[]): OfferFilter => ({ conditions, anyOf: [] })
const hints = (...conditions: Condition[]) => hintsOf(filterBy(...conditions), names)

describe('a search', () => {
  it.each<[Condition, string]>([
    [
      { field: 'gpuName', operator: 'eq', value: 'h100' },
      'No GPU model is called "h100". Did you mean "H100 SXM" or "H100 PCIe"?',
    ],
    [
      { field: 'gpuName', operator: 'in', values: ['rtx 4090', 'rtx4091'] },
      'No GPU model is called "rtx4091". Did you mean "RTX 4090"?',
    ],
    [{ field: 'gpuName', operator: 'contains', value: 'toaster' }, 'No GPU model is called "toaster".'],
    [
      { field: 'gpuName', operator: 'neq', value: 'rtx4090' },
      'No GPU model is called "rtx4090". Did you mean "RTX 4090"?',
    ],
    [
      { field: 'gpuName', operator: 'nin', values: ['l40s', 'l40t'] },
      'No GPU model is called "l40t". Did you mean "L40S"?',
    ],
    [
      { field: 'city', operator: 'eq', value: 'malmo' },
      'No machine is in a city called "malmo". Did you mean "Malmö"?',
    ],
    [{ field: 'city', operator: 'startsWith', value: 'x' }, 'No machine is in a city called "x".'],
    [
      { field: 'country', operator: 'eq', value: 'germany' },
      'No country has the code "germany". Did you mean DE (Germany)?',
    ],
    [
      { field: 'country', operator: 'eq', value: 'korea' },
      'No country has the code "korea". Did you mean KP (North Korea) or KR (South Korea)?',
    ],
    [
      { field: 'country', operator: 'in', values: ['uk'] },
      'No country has the code "uk". Did you mean GB (United Kingdom)?',
    ],
    [{ field: 'country', operator: 'eq', value: 'xx' }, 'No country has the code "xx".'],
    [
      { field: 'cpuArch', operator: 'eq', value: 'x86_64' },
      'No CPU architecture is called "x86_64". There are "amd64", "arm64".',
    ],
    [{ field: 'gpuVendor', operator: 'eq', value: 'nvida' }, 'No GPU vendor is called "nvida". Did you mean "nvidia"?'],
    [
      { field: 'reliability', operator: 'gte', value: 99.9 },
      'Reliability must be from 0 to 1, such as 0.999, not 99.9.',
    ],
  ])('may have meant something else: %j', (condition, hint) => {
    expect(hints(condition)).toEqual([hint])
  })

  it('is compared with the names once for each value, however often a filter repeats one', () => {
    const values = Array.from({ length: maxOperands }, () => 'z'.repeat(40))
    const conditions = Array.from({ length: 50 }, (): Condition => ({ field: 'country', operator: 'in', values }))
    const start = process.cpuUsage()
    expect(hints(...conditions)).toHaveLength(1)
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000)
  })

  it.each<Condition>([
    { field: 'gpuName', operator: 'eq', value: 'h100 sxm' },
    { field: 'gpuName', operator: 'startsWith', value: 'h100' },
    { field: 'gpuName', operator: 'contains', value: '4090' },
    { field: 'gpuName', operator: 'neq', value: 'rtx 4090' },
    { field: 'gpuName', operator: 'nin', values: ['l40s'] },
    { field: 'country', operator: 'eq', value: 'de' },
    { field: 'reliability', operator: 'lte', value: 99 },
    { field: 'reliability', operator: 'gte', value: 1 },
    { field: 'numGpus', operator: 'gte', value: 99 },
    { field: 'city', operator: 'eq', value: 'malmö' },
    { field: 'motherboard', operator: 'eq', value: 'nothing' },
    inRegions(['europe', 'oceania']),
  ])('means what it says: %j', condition => {
    expect(hints(condition)).toEqual([])
  })

  it.each<[operator: 'eq' | 'in', operand: unknown, quoted: string]>([
    ['eq', 'Tesla-T4', 'Tesla-T4'],
    ['in', ['rtx 4090', 'RTX 4090', 'GeForce'], 'GeForce'],
    ['in', ['toaster', 'RTX 4090'], 'toaster'],
  ])('is quoted as it was written: %s %j', (operator, operand, quoted) => {
    const condition = parseCondition('gpuName', operator, operand) as Condition
    expect(hints(condition)).toEqual([`No GPU model is called "${quoted}".`])
  })

  it('gets hints about its alternatives, each once and three in all', () => {
    const unknown = (value: string): Condition => ({ field: 'country', operator: 'eq', value })
    const filter = { conditions: [unknown('x1')], anyOf: ['x1', 'x2', 'x3', 'x4'].map(code => filterBy(unknown(code))) }
    const codes = ['x1', 'x2', 'x3'].map(code => `No country has the code "${code}".`)
    expect(hintsOf(filter, names)).toEqual(codes)
  })

  it('lists the few names that there are, and none without any', () => {
    const toaster: Condition = { field: 'gpuName', operator: 'eq', value: 'toaster' }
    expect(hintsOf(filterBy(toaster), stored('RTX 4090', 'L40S'))).toEqual([
      'No GPU model is called "toaster". There are "RTX 4090", "L40S".',
    ])
    expect(hintsOf(filterBy(toaster), stored())).toEqual(['No GPU model is called "toaster".'])
  })

  it('compares no long texts, and shows only their beginning', () => {
    const [hint = ''] = hints({ field: 'gpuName', operator: 'eq', value: 'h100 '.repeat(100_000) })
    expect(hint).toMatch(/^No GPU model is called "(h100 ?)+…\.$/)
    expect(hint.length).toBeLessThan(100)
  })
})

describe('the filter of a stream', () => {
  const refusedPaths = (filter: OfferFilter) =>
    unknownNameIssues(unknownNames(filter, names), names).map(({ path }) => path)

  it('has issues about each name that nothing will have, at its place', () => {
    const germany: Condition = { field: 'country', operator: 'neq', value: 'germany' }
    const typo: Condition = { field: 'gpuName', operator: 'in', values: ['l40s', 'rtx4090'] }
    const filter = { conditions: [germany], anyOf: [filterBy(), { conditions: [], anyOf: [filterBy(typo)] }] }
    expect(unknownNameIssues(unknownNames(filter, names), names)).toEqual([
      { path: 'filter.country.neq', message: 'No country has the code "germany". Did you mean DE (Germany)?' },
      { path: 'filter.or.1.or.0.gpuName.in', message: 'No GPU model is called "rtx4090". Did you mean "RTX 4090"?' },
    ])
  })

  it.each<Condition>([
    { field: 'gpuName', operator: 'eq', value: 'l40s' },
    { field: 'gpuName', operator: 'contains', value: 'b300' },
    { field: 'gpuName', operator: 'startsWith', value: 'b300' },
    { field: 'city', operator: 'eq', value: 'nowhere' },
  ])('can wait for what may come: %j', condition => {
    expect(refusedPaths(filterBy(condition))).toEqual([])
  })
})

it.each<[Condition, string[]]>([
  [
    { field: 'gpuRamMb', operator: 'gte', value: 24 },
    ['gpuRamMb is in MB, and 24 MB is less than any machine has. Use gpuRamGb to compare GB.'],
  ],
  [
    { field: 'cpuRamMb', operator: 'lte', value: 512 },
    ['cpuRamMb is in MB, and 512 MB is less than any machine has. Use cpuRamGb to compare GB.'],
  ],
  [
    { field: 'gpuTotalRamMb', operator: 'in', values: [48, 48, 49_152] },
    ['gpuTotalRamMb is in MB, and 48 MB is less than any machine has. Use gpuRamGb to compare the GB of one GPU.'],
  ],
  [{ field: 'gpuRamMb', operator: 'gte', value: 24_564 }, []],
  [{ field: 'cpuRamMb', operator: 'gt', value: 0 }, []],
  [{ field: 'gpuRamGb', operator: 'gte', value: 24 }, []],
])('memory in MB may be meant in GB: %j', (condition, expected) => {
  expect(memoryHints({ conditions: [], anyOf: [filterBy(condition)] })).toEqual(expected)
})

it.each([
  ['reliability', 99, 'must be from 0 to 1, such as 0.99, not 99'],
  ['gpuFraction', 25, 'must be from 0 to 1, such as 0.25, not 25'],
  ['reliability', 1.01, 'must be from 0 to 1, not 1.01'],
  ['reliability', 250, 'must be from 0 to 1, not 250'],
  ['reliability', 1, undefined],
  ['reliability', '99', undefined],
  ['numGpus', 99, undefined],
] as const)('the share %s has the value %j or not', (field, value, problem) => {
  expect(shareProblem(field, value)).toBe(problem)
})
