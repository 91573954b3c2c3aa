// PostGraphile on the gateway's tables and the functions of the schema `peer`. Plain JavaScript: its packages are installed
// only when the bench runs, so the compiler cannot see them.

import { createServer } from 'node:http'
import { PgSimplifyInflectionPreset } from '@graphile/simplify-inflection'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter'

const connections = 10

const preset = {
  extends: [PostGraphileAmberPreset, PgSimplifyInflectionPreset, PostGraphileConnectionFilterPreset],
  // It hides filters and relations that no index begins with. A search here filters by such columns.
  disablePlugins: ['PgIndexBehaviorsPlugin'],
  pgServices: [
    makePgService({
      connectionString: process.env.DATABASE_URL,
      schemas: ['public', 'peer'],
      poolConfig: { max: connections, idleTimeoutMillis: 0 },
    }),
  ],
  grafserv: { graphqlPath: '/graphql', graphiql: false, websockets: false, watch: false },
  grafast: { explain: false },
  schema: { connectionFilterRelations: true },
}

const server = createServer()
await postgraphile(preset).createServ(grafserv).addTo(server)
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
process.on('SIGTERM', () => process.exit())
