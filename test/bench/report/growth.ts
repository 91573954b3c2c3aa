import { median, pairedRatios } from '../measure/statistics.ts'
import { printNumber, printTable } from './table.ts'

/** The p50 of a search in ms, one for each round. */
export type GrowthFigures = { title: string; small: number[]; large: number[] }

/** The medians in each market, and the ratio of the large one to the small one. */
export function printGrowth(markets: readonly string[], measured: GrowthFigures[]): string {
  const rows = measured.map(({ title, small, large }) => {
    const ratio = pairedRatios(large, small)
    const spread = ratio && `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)})`
    return [title, printNumber(median(small)), printNumber(median(large)), spread ?? '–']
  })
  return printTable([['p50 ms, offers', ...markets, 'ratio'], ...rows])
}
