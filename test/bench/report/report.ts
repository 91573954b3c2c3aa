import type { Measured } from '../measure/rounds.ts'
import type { Figures } from '../measure/runs.ts'
import type { Statements } from '../measure/statements.ts'
import { median, pairedRatios } from '../measure/statistics.ts'
import { type Contestant, contestants } from '../workloads/workload.ts'
import { sumFailures } from './gates.ts'
import { printNumber, printTable } from './table.ts'

type Column = { title: string; read: (figures: Figures) => number }

const columns: Column[] = [
  { title: 'req/s', read: figures => figures.requestsPerSecond },
  { title: 'p50 ms', read: figures => figures.p50 },
  { title: 'p99 ms', read: figures => figures.p99 },
  { title: 'Node ms', read: figures => figures.nodeMs },
  { title: 'PostgreSQL ms', read: figures => figures.postgresMs },
  { title: 'memory MB', read: figures => figures.memoryMb },
]
const ratioColumns: Column[] = [
  ...columns.slice(0, 3),
  { title: 'CPU', read: ({ nodeMs, postgresMs }) => nodeMs + postgresMs },
  { title: 'memory', read: figures => figures.memoryMb },
]

/** The medians of each contestant, then the ratios of Berth to each of the others. */
export function printMeasured(measured: Measured, statements: Statements): string {
  const names = contestants.filter(name => measured[name])
  const medians = names.map(name => [
    name,
    ...columns.map(({ read }) => printNumber(median((measured[name] ?? []).map(read)))),
    printNumber(statements[name]),
  ])
  const ratios = names
    .slice(1)
    .map(name => [`to ${name}`, ...ratioColumns.map(column => printRatio(measured, name, column))])
  return [
    printTable([['', ...columns.map(({ title }) => title), 'statements'], ...medians]),
    printTable([['Berth', ...ratioColumns.map(({ title }) => title)], ...ratios]),
    ...names.flatMap(name => printFailures(name, measured[name] ?? [])),
  ].join('\n')
}

function printFailures(name: Contestant, rounds: Figures[]): string[] {
  const { count, first } = sumFailures(rounds)
  return count === 0 ? [] : [`  ${name} failed ${count} requests, the first with: ${first}\n`]
}

/** The median of the paired ratios, with the least and the greatest if there are several: 1.50 (1.42 to 1.61). */
function printRatio({ Berth = [], ...measured }: Measured, name: Contestant, { read }: Column): string {
  const others = (measured as Measured)[name] ?? []
  const spread = pairedRatios(Berth.map(read), others.map(read))
  if (!spread) return '–'
  if (others.length === 1) return spread.median.toFixed(2)
  return `${spread.median.toFixed(2)} (${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`
}
