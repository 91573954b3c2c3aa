// npm run db:migration NAME: writes prisma/migrations/<time>_<name>/migration.sql with the changes of schema.prisma
// since the last migration, and generates the Prisma client. Review the file, and add by hand what the schema language
// does not have.

import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { parseConfig } from '../src/config.ts'
import { openServer, withScratchDatabase } from '../src/database/embedded/server.ts'
import { findSchemaDrift } from './drift.ts'

const name = process.argv[2]
if (!name || !/^[a-z0-9_]+$/.test(name))
  throw new Error('The migration needs a name in snake_case: npm run db:migration add_volumes')

const config = parseConfig(process.env)
const onLost = (error: Error) => {
  throw error
}
const server = await openServer(config, { dataDir: config.dataDir, role: 'command', onLost })
const sql = await withScratchDatabase(server.urls.ownerUrl, findSchemaDrift).finally(() => server.release())

if (sql === undefined) {
  process.stdout.write('Schema and migrations agree. No migration was written.\n')
} else {
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const folder = new URL(`migrations/${time}_${name}/`, import.meta.url)
  await mkdir(folder)
  await writeFile(new URL('migration.sql', folder), sql)
  process.stdout.write(`prisma/migrations/${time}_${name}/migration.sql\n`)
}

execFileSync('npm', ['run', '--silent', 'postinstall'], { cwd: new URL('..', import.meta.url), stdio: 'inherit' })
