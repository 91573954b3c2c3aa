// The admission of requests, put together.

import type { IncomingMessage } from 'node:http'
import { recallCaller } from './auth/authenticate.ts'
import { isEchoToken } from './doctor/echo-token.ts'
import { overloaded } from './domain/errors.ts'
import { printRefusal } from './graphql/errors/response.ts'
import { customerNetworkOf } from './http/address-limits.ts'
import { createAdmission, limitsFor } from './http/admission/admission.ts'
import { echoRequests } from './http/admission/echo.ts'
import { admissionMetrics } from './http/admission/metrics.ts'
import { createAdmitRequest } from './http/admission/requests.ts'
import type { Client, TrustedProxies } from './http/client.ts'
import type { BeginRequest } from './http/router.ts'
import { printFailure } from './rest/errors.ts'
import type { Secrets } from './services/secrets.ts'
import type { Services } from './services/services.ts'
import type { Owner } from './turns/owners.ts'

/** `connections`: how many to the database the requests have. */
type RequestAdmissionOptions = {
  connections: number
  services: Services
  begin: BeginRequest
  echo: { proxies: TrustedProxies; secrets: Secrets; now(): Date }
}

export function createRequestAdmission({ connections, services, begin, echo }: RequestAdmissionOptions) {
  const admission = createAdmission(limitsFor(connections))
  const ownerOf = ({ headers, url = '' }: IncomingMessage, { address }: Client): Owner =>
    recallCaller(headers.authorization, url, services) ?? customerNetworkOf(address)
  const refusals = { graphql: printRefusal(overloaded()), rest: printFailure(overloaded()) }
  const isToken = (token: string) => isEchoToken(echo.secrets, token, echo.now())
  return {
    admission,
    admit: echoRequests(createAdmitRequest({ admission, begin, ownerOf, refusals }), { ...echo, isToken }),
    metrics: () => admissionMetrics(admission),
  }
}
