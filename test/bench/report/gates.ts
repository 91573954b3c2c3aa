import type { Failures } from '../measure/load.ts'
import type { Measured } from '../measure/rounds.ts'
import type { Figures } from '../measure/runs.ts'
import type { Statements } from '../measure/statements.ts'
import type { Workload } from '../workloads/workload.ts'

/** A poll of the idle gateway may fall into a run: this much of a statement is no statement. */
const tolerance = 0.5

/** What is wrong with the statements of Berth. */
export function statementProblems({ id, title, maxStatements }: Workload, { Berth = 0 }: Statements): string[] {
  if (maxStatements === undefined || Berth < maxStatements + tolerance) return []
  return [`${id}, ${title}: Berth sends ${Berth.toFixed(1)} statements for a request, more than ${maxStatements}.`]
}

/** A busy machine makes a server refuse some requests, and a broken one all. */
const maxFailures = 0.5

/** Contestants that failed most requests of a workload in a round. */
export function failureProblems({ id, title }: Workload, measured: Measured): string[] {
  const failing = Object.entries(measured).filter(([, rounds]) => rounds.some(isBroken))
  return failing.map(([name, rounds]) => `${id}, ${title}: ${name} fails with ${sumFailures(rounds).first}`)
}

function isBroken({ failures, requests }: Figures): boolean {
  return failures.count > maxFailures * (failures.count + requests)
}

/** The failures of all rounds, with the first one. */
export function sumFailures(rounds: readonly Figures[]): Failures {
  const count = rounds.reduce((sum, { failures }) => sum + failures.count, 0)
  return { count, first: rounds.map(({ failures }) => failures.first).find(Boolean) ?? '' }
}
