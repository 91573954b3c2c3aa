import { jsonResponse } from './json.ts'

/** Whether the process lives. It does not ask the database: restarting the process would not mend that. */
export function answerHealth(): Response {
  return jsonResponse(200, { status: 'ok' })
}

/** Whether requests should come here. `why` says why not. */
export async function answerReadiness(findProblem: () => Promise<string | undefined>): Promise<Response> {
  const problem = await findProblem()
  return problem ? jsonResponse(503, { status: problem }) : jsonResponse(200, { status: 'ready' })
}
