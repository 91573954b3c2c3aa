import type { Logger } from 'pino'

/** What is known of a request before anybody reads it. The log carries its id; the path is that of its URL. */
export type RequestContext = { requestId: string; path: string; log: Logger }
export type Handler = (request: Request, context: RequestContext) => Promise<Response>
