import { z } from 'zod'
import { renderApiPage } from '../api-page.ts'
import { type Route, route } from '../route.ts'
import { openapiDocument } from './openapi.ts'

/** Routes that describe all routes. `served` gives these, themselves included, when one of them is asked. */
export const interfaceRoutes = (served: () => Route[]): Route[] => [
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
    answer: async () => openapiDocument(served()),
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
    answer: async () => renderApiPage(served()),
  }),
]
