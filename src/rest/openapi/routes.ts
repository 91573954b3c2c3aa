import { z } from 'zod'
import { renderApiPage } from '../page/page.ts'
import { pageScriptHash } from '../page/script.ts'
import { type Route, route } from '../route.ts'
import { openapiDocument } from './openapi.ts'

/** The routes that document all routes. `served` returns every route, including these; a request calls it. */
export const interfaceRoutes = (served: () => Route[]): Route[] => [
  route({
    method: 'GET',
    path: '/api/v0/',
    operationId: 'getIndex',
    tag: 'Interface',
    summary: 'Find the documentation',
    about: 'Links to the documentation of this interface. Needs no key.',
    open: true,
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      documentation: z.string().describe('URL of the HTML documentation.'),
      openapi: z.string().describe('URL of the OpenAPI document.'),
      graphql: z.string().describe('URL of the GraphQL endpoint.'),
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
    summary: 'Get the OpenAPI document',
    about: 'The OpenAPI document of every REST route. Needs no key.',
    open: true,
    result: z.looseObject({ openapi: z.string().describe('Version of the OpenAPI format.') }),
    isFixed: true,
    answer: async () => openapiDocument(served()),
  }),
  route({
    method: 'GET',
    path: '/api/v0/docs/',
    operationId: 'getPage',
    tag: 'Interface',
    summary: 'Read the documentation',
    example: { answer: '<!doctype html>…' },
    about: 'The OpenAPI document as an HTML page. Needs no key.',
    open: true,
    produces: 'text/html',
    scriptHash: pageScriptHash,
    result: z.string().describe('The HTML page.'),
    isFixed: true,
    answer: async () => renderApiPage(served()),
  }),
]
