import { folders, goals } from './folders.ts'
import type { Result } from './results.ts'

export function describeResult({ outcome, file, line, before, after, by }: Result): string {
  const place = `${outcome} ${file}:${line}`
  return outcome === 'survived' ? `${place}\n    ${before}\n    ${after}` : `${place} by ${by?.slice(0, 200)}`
}

export function printResults(results: readonly Result[]): string {
  const lines = folders.flatMap(({ path }) => {
    const inFolder = results.filter(({ file }) => file.startsWith(`${path}/`))
    return inFolder.length > 0 ? [rowOf(path, inFolder)] : []
  })
  return [
    '| folder | killed | timeout | survived | not compiled | score |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

function rowOf(path: string, results: readonly Result[]): string {
  const number = (wanted: Result['outcome']) => results.filter(({ outcome }) => outcome === wanted).length
  const numbers = [number('killed'), number('timeout'), number('survived'), number('not compiled')]
  return `| \`${path}\` | ${numbers.join(' | ')} | ${describeScore(scoreOf(results))} |`
}

function scoreOf(results: readonly Result[]) {
  const counted = results.filter(({ outcome }) => outcome !== 'not compiled')
  return { noticed: counted.filter(({ outcome }) => outcome !== 'survived').length, counted: counted.length }
}

/** Rounded down, so that a goal is never reached by rounding. */
function describeScore({ noticed, counted }: { noticed: number; counted: number }): string {
  return `${(Math.floor((1_000 * noticed) / counted) / 10).toFixed(1)} % (${noticed} of ${counted})`
}

export function missedGoals(results: readonly Result[]): string[] {
  return Object.entries(goals).flatMap(([goal, least]) => {
    const paths = folders.filter(folder => folder.goal === goal).map(({ path }) => path)
    const score = scoreOf(results.filter(({ file }) => paths.some(path => file.startsWith(`${path}/`))))
    const isReached = score.noticed * 100 >= least * score.counted
    return isReached ? [] : [`The goal of ${paths.join(', ')} is ${least} %, not ${describeScore(score)}.`]
  })
}
