type ReadinessOptions = {
  phase(): 'starting' | 'ready' | 'stopping'
  /** `findProblem` finds why the gateway cannot use its database now; undefined if it can. */
  database: { findProblem(): Promise<string | undefined> }
  writes: { isFailing(): Promise<boolean> }
  work: { isFailing(): boolean }
}

/** Returns a function that finds why the gateway should get no requests now; undefined if it should. */
export function createReadiness({ phase, database, writes, work }: ReadinessOptions) {
  let asking: Promise<string | undefined> | undefined

  /** Anybody may ask, and due work needs the same connections: those who ask at once share a statement. */
  function askDatabase(): Promise<string | undefined> {
    asking ??= database.findProblem().finally(() => {
      asking = undefined
    })
    return asking
  }

  return async (): Promise<string | undefined> => {
    const current = phase()
    if (current !== 'ready') return current
    const problem = await askDatabase()
    if (problem) return problem
    if (await writes.isFailing()) return 'the database takes no writes'
    // A backlog of due work is no reason: all gateways share it, and fewer gateways would not reduce it.
    return work.isFailing() ? 'polling for due work fails' : undefined
  }
}
