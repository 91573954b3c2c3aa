import { createYoga } from 'graphql-yoga'
import { authenticate } from '../auth/authenticate.ts'
import type { Admission } from '../http/admission/admission.ts'
import { checkEncoding, maxBodyBytes } from '../http/body.ts'
import { unbufferedHeaders } from '../http/event-stream.ts'
import { type CreateMeter, unlimitedMeters } from '../http/limits/meter.ts'
import type { PlainHandler } from '../http/plain.ts'
import type { Handler, RequestContext } from '../http/router.ts'
import type { SocketFace } from '../http/sockets.ts'
import type { Services } from '../services/services.ts'
import type { Context } from './context.ts'
import { createDocumentCache, parsedDocuments } from './document-cache.ts'
import { extensionsOf } from './errors/face-errors.ts'
import { errorResponse, refusalResponse } from './errors/response.ts'
import { costPlugin } from './limits/cost-plugin.ts'
import {
  completeErrorsPlugin,
  executionErrorsPlugin,
  limitsPlugin,
  requestErrorsPlugin,
  subscriptionsPlugin,
} from './plugins.ts'
import { schema } from './schema.ts'
import { createPlainFace } from './transport/plain.ts'
import { createSocketFace } from './transport/sockets.ts'

/** Serves /graphql over HTTP and WebSockets. Without a valid key there is no introspection and no hint in an error. */
export function createGraphqlFace(
  services: Services,
  admission: Admission,
  meterOf: CreateMeter = unlimitedMeters,
): { answer: Handler; plain: PlainHandler; sockets: SocketFace } {
  const yoga = createYoga<Context>({
    schema,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    maxRequestBodySize: maxBodyBytes,
    // Yoga answers every path that ends with this, without a key. No URL path contains a space, so this disables it.
    healthCheckEndpoint: '/ never',
    maskedErrors: { isDev: false },
    parserAndValidationCache: { documentCache: parsedDocuments, errorCache: createDocumentCache() },
    plugins: [
      requestErrorsPlugin,
      limitsPlugin,
      subscriptionsPlugin,
      executionErrorsPlugin,
      costPlugin,
      completeErrorsPlugin,
    ],
  })
  const handleHttp = async (request: Request, context: RequestContext) => {
    try {
      // Yoga runs no mutation over GET. What a POST runs is not known yet.
      const fresh = request.method !== 'GET'
      const actor = await authenticate(request.headers.get('authorization'), services, { fresh, meter: context.meter })
      checkEncoding(request)
      // Yoga compares content types case-sensitively, in lower case.
      const type = request.headers.get('content-type')
      if (type) request.headers.set('content-type', type.toLowerCase())
      const disconnected = request.signal
      const response = await yoga.fetch(request, { ...context, actor, services, disconnected })
      const message = response.body ? undefined : emptyAnswerMessages[response.status]
      if (message !== undefined) return errorResponse(response.status, message, extensionsOf('BAD_REQUEST'))
      return isStream(response) ? disableBuffering(response) : response
    } catch (error) {
      // The client disconnected.
      if (request.signal.aborted) throw error
      return refusalResponse(error, context)
    }
  }
  return {
    answer: handleHttp,
    plain: createPlainFace(yoga, services),
    sockets: createSocketFace({ envelop: yoga.getEnveloped, services, admission, meterOf }),
  }
}

/** Messages for the statuses that Yoga answers with an empty body. */
const emptyAnswerMessages: Record<number, string> = {
  406: 'Accept must allow application/json, or text/event-stream for a subscription.',
  415: 'The content type of a body must be application/json.',
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

function disableBuffering(response: Response): Response {
  for (const [name, value] of Object.entries(unbufferedHeaders)) response.headers.set(name, value)
  // The HTTP server sets this header itself: when the gateway stops, it closes the connection after the answer.
  response.headers.delete('connection')
  return response
}
