import { json } from './json.ts'

/** Whether the process lives. It does not ask the database: restarting the process would not mend that. */
export function health(): Response {
  return json(200, { status: 'ok' })
}

/** Whether requests should come here. `why` says why not. */
export async function readiness(why: () => Promise<string | undefined>): Promise<Response> {
  const problem = await why()
  return problem ? json(503, { status: problem }) : json(200, { status: 'ready' })
}
