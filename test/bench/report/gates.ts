import type { Statements } from '../measure/statements.ts'
import type { Workload } from '../workloads/workload.ts'

/** A poll of the idle gateway may fall into a run: this much of a statement is no statement. */
const tolerance = 0.5

/** What is wrong with the statements of Berth; undefined if nothing is. */
export function statementProblem({ id, title, maxStatements }: Workload, { Berth }: Statements): string | undefined {
  if (maxStatements === undefined || Berth === undefined || Berth < maxStatements + tolerance) return undefined
  return `${id}, ${title}: Berth sends ${Berth.toFixed(1)} statements for a request, more than ${maxStatements}.`
}
