// The admission of requests, put together.

import type { IncomingMessage } from 'node:http'
import { recallCaller } from './auth/authenticate.ts'
import { overloaded } from './domain/errors.ts'
import { printRefusal } from './graphql/errors/response.ts'
import { customerNetworkOf } from './http/address-limits.ts'
import { createAdmission, limitsFor } from './http/admission/admission.ts'
import { admissionMetrics } from './http/admission/metrics.ts'
import { createAdmitRequest } from './http/admission/requests.ts'
import type { Client } from './http/client.ts'
import type { BeginRequest } from './http/router.ts'
import { printFailure } from './rest/errors.ts'
import type { Services } from './services/services.ts'
import type { Owner } from './turns/owners.ts'

/** `connections`: how many to the database the requests have. */
type RequestAdmissionOptions = { connections: number; services: Services; begin: BeginRequest }

export function createRequestAdmission({ connections, services, begin }: RequestAdmissionOptions) {
  const admission = createAdmission(limitsFor(connections))
  const ownerOf = ({ headers, url = '' }: IncomingMessage, { address }: Client): Owner =>
    recallCaller(headers.authorization, url, services) ?? customerNetworkOf(address)
  const refusals = { graphql: printRefusal(overloaded()), rest: printFailure(overloaded()) }
  return {
    admission,
    admit: createAdmitRequest({ admission, begin, ownerOf, refusals }),
    metrics: () => admissionMetrics(admission),
  }
}
