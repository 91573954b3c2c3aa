import type { Logger } from 'pino'

/** Set before a handler runs. Lines of `log` carry the request id; `path` is the path of the URL. */
export type RequestContext = { requestId: string; path: string; log: Logger }
export type Handler = (request: Request, context: RequestContext) => Promise<Response>
