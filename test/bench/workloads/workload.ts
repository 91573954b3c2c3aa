import type { HttpRequest } from '../measure/connection.ts'

/** What is compared. PostGraphile is asked in two ways: by its own filters, and through a search function by hand. */
export const contestants = ['Berth', 'PostGraphile', 'PostGraphile, by hand', 'floor'] as const
export type Contestant = (typeof contestants)[number]

/** How a contestant does a workload. */
export type Way<Input> = {
  request(input: Input): HttpRequest
  /** The answer, or what the request has written, in a form that is equal for all contestants. */
  rows(answer: unknown, input: Input): unknown
  /** Every good answer contains this text. */
  expects: string
}

export type Workload<Input = unknown> = {
  id: string
  title: string
  /** The inputs of a run: equal for equal numbers, unless an input can be used only once. */
  inputs(run: number): Iterator<Input>
  /** Contestants that are missing cannot do it. */
  ways: { [Name in Contestant]?: Way<Input> }
  /** Most statements that Berth may send for a request. */
  maxStatements?: number
  /** Undoes what a run wrote, so that the next one finds what it needs. */
  restore?(): Promise<void>
}

/** Lets workloads with different inputs be in one list. */
export function defineWorkload<Input>(workload: Workload<Input>): Workload {
  return workload as Workload
}

/** Makes inputs without end. */
export function* endless<Input>(make: (index: number) => Input): Generator<Input> {
  for (let index = 0; ; index += 1) yield make(index)
}
