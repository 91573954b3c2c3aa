import { jsonResponse } from './json.ts'

/** Whether the process lives. Ignores the database: restarting the process would not repair it. */
export function answerHealth(): Response {
  return jsonResponse(200, { status: 'ok' })
}

/** Whether this gateway should receive requests. `findProblem` says why not. */
export async function answerReadiness(findProblem: () => Promise<string | undefined>): Promise<Response> {
  const problem = await findProblem()
  return problem ? jsonResponse(503, { status: problem }) : jsonResponse(200, { status: 'ready' })
}
