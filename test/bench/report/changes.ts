import { median } from '../measure/statistics.ts'
import { printNumber, printTable } from './table.ts'

/** The latencies of a search in ms at a rate of changes a second, and the rate that PostgreSQL carried. */
export type ChangeFigures = { title: string; rate: number; achieved: number; p50: number; p99: number }

/** The medians of all rounds, and each p99 divided by that of the still market. */
export function printChanges(figures: readonly ChangeFigures[]): string {
  const ofSearches = [...Map.groupBy(figures, ({ title, rate }) => `${title} ${rate}`).values()]
  const rows = ofSearches.map(same => {
    const of = (figure: 'achieved' | 'p50' | 'p99', measured: readonly ChangeFigures[]) =>
      median(measured.map(one => one[figure]))
    const [{ title = '' } = {}] = same
    const still = figures.filter(one => one.title === title && one.rate === 0)
    const p99 = of('p99', same)
    return [
      title,
      ...[of('achieved', same), of('p50', same), p99].map(printNumber),
      (p99 / of('p99', still)).toFixed(2),
    ]
  })
  return printTable([['searched while the market changes', 'changes/s', 'p50 ms', 'p99 ms', 'p99 / still'], ...rows])
}
