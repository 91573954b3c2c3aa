import { z } from 'zod'
import { accountRoutes } from './accounts/accounts.ts'
import { apiKeyRoutes } from './accounts/api-keys.ts'
import { secretVariableRoutes } from './accounts/secret-variables.ts'
import { sshKeyRoutes } from './accounts/ssh-keys.ts'
import { chargeRoutes } from './billing/charges.ts'
import { invoiceRoutes } from './billing/invoices.ts'
import { eventRoutes } from './events/events.ts'
import { instanceActionRoutes } from './instances/actions.ts'
import { instanceRoutes } from './instances/instances.ts'
import { launchRoutes } from './instances/launch.ts'
import { instanceListRoutes } from './instances/list.ts'
import { instancesNotOffered } from './instances/not-offered.ts'
import { instanceRelaunchRoutes } from './instances/relaunch.ts'
import { rentRoutes } from './instances/rent.ts'
import { rentManyRoutes } from './instances/rent-many.ts'
import { instanceRestartRoutes } from './instances/restart.ts'
import { resultRoutes } from './instances/results.ts'
import { instanceSshKeyRoutes } from './instances/ssh-keys.ts'
import { machineRoutes } from './machines/host.ts'
import { offerRoutes } from './offers/offers.ts'
import { openapiDocument } from './openapi/openapi.ts'
import { apiPage } from './page.ts'
import { type Route, route } from './route.ts'
import { templateListRoutes } from './templates/list.ts'
import { templateRoutes } from './templates/templates.ts'
import { volumeRoutes } from './volumes/volumes.ts'

/** Everything that this face serves, and its description is made of. */
export const routes: Route[] = [
  ...offerRoutes,
  ...accountRoutes,
  ...chargeRoutes,
  ...invoiceRoutes,
  ...eventRoutes,
  ...rentRoutes,
  ...launchRoutes,
  ...rentManyRoutes,
  ...instanceRoutes,
  ...instanceListRoutes,
  ...instanceActionRoutes,
  ...instanceRestartRoutes,
  ...instanceRelaunchRoutes,
  ...instancesNotOffered,
  ...instanceSshKeyRoutes,
  ...sshKeyRoutes,
  ...apiKeyRoutes,
  ...secretVariableRoutes,
  ...templateListRoutes,
  ...templateRoutes,
  ...volumeRoutes,
  ...machineRoutes,
  ...resultRoutes,
  route({
    method: 'GET',
    path: '/api/v0/',
    operationId: 'getIndex',
    tag: 'Interface',
    summary: 'Find the documentation',
    about: 'Where this interface is described. It needs no key.',
    open: true,
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      documentation: z.string().describe('The page for people.'),
      openapi: z.string().describe('The OpenAPI document.'),
      graphql: z.string().describe('Where GraphQL is served.'),
    }),
    answer: async ({ origin }) => ({
      success: true as const,
      documentation: `${origin}/api/v0/docs/`,
      openapi: `${origin}/api/v0/openapi.json`,
      graphql: `${origin}/graphql`,
    }),
  }),
  route({
    method: 'GET',
    path: '/api/v0/openapi.json',
    operationId: 'getOpenapi',
    tag: 'Interface',
    summary: 'Get this document',
    about: 'The OpenAPI document of everything that is served here. It needs no key.',
    open: true,
    result: z.looseObject({ openapi: z.string().describe('The version of OpenAPI.') }),
    isFixed: true,
    answer: async () => openapiDocument(routes),
  }),
  route({
    method: 'GET',
    path: '/api/v0/docs/',
    operationId: 'getPage',
    tag: 'Interface',
    summary: 'Read this document',
    about: 'The same as a page for people. It needs no key.',
    open: true,
    produces: 'text/html',
    result: z.string().describe('The page.'),
    isFixed: true,
    answer: async () => apiPage(routes),
  }),
]
