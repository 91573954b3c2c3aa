// The floor: what the workloads cost with `node:http`, `pg`, prepared statements and JSON written by hand. It has no
// authentication, permissions, limits, validation or error handling.

import { createServer, type IncomingMessage } from 'node:http'
import pg from 'pg'
import { instancesOf, offersOf } from './graph-rows.ts'
import { restInstanceOf, restOffersOf } from './rest-rows.ts'
import { statements } from './statements.ts'

type Values = unknown[]
type Route = {
  statement: keyof typeof statements
  /** The rows are those of the statement. */
  answer(rows: object[]): unknown
}

const routes: Record<string, Route> = {
  '/search': { statement: 'search', answer: offersOf },
  '/instances': { statement: 'instances', answer: instancesOf },
  '/rent': { statement: 'rent', answer: ([row]) => row },
  '/label': { statement: 'label', answer: ([row]) => row },
  '/target-state': { statement: 'targetState', answer: ([row]) => row },
  '/rest/search': { statement: 'restSearch', answer: restOffersOf },
  '/rest/instance': { statement: 'restInstance', answer: restInstanceOf },
}

// Every int8 here is far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10, idleTimeoutMillis: 0 })

const server = createServer(async (request, response) => {
  const route = routes[request.url ?? '']
  const values = JSON.parse((await readBody(request)) || '[]') as Values
  response.setHeader('content-type', 'application/json')
  if (!route) {
    response.end('{"data":{"__typename":"Query"}}')
    return
  }
  const { rows } = await pool.query<object>({ name: route.statement, text: statements[route.statement], values })
  const body = JSON.stringify(route.answer(rows))
  response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
})

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return body
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address?.port}\n`)
})
process.on('SIGTERM', () => process.exit())
