import type { Statements } from '../measure/statements.ts'
import type { Workload } from '../workloads/workload.ts'

/** A poll of the idle gateway may fall into a run: this much of a statement is no statement. */
const tolerance = 0.5

/** What is wrong with the statements of Berth. */
export function statementProblems({ id, title, maxStatements }: Workload, { Berth = 0 }: Statements): string[] {
  if (maxStatements === undefined || Berth < maxStatements + tolerance) return []
  return [`${id}, ${title}: Berth sends ${Berth.toFixed(1)} statements for a request, more than ${maxStatements}.`]
}
