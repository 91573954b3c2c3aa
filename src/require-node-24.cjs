// Loaded before the program, and written for any version of Node: Berth is TypeScript, which older versions cannot run.
const { existsSync } = require('node:fs')
const { join } = require('node:path')

// The last thing that npm ci makes.
if (!existsSync(join(__dirname, 'database/generated/client.ts'))) {
  process.stderr.write('The packages of Berth are not installed. Run npm ci first.\n')
  process.exit(1)
}

const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `Berth needs Node.js 24 or newer, and this is ${process.version}.
Use the npm scripts (npm start, npm test, npm run berth): they run the Node.js that npm ci installed.\n`,
  )
  process.exit(1)
}

// Libraries check their own use in development, which costs time.
process.env['NODE_ENV'] ??= 'production'

// Compiled code is kept beside the packages, and the next start takes half the time. Where nobody may write, none is kept.
require('node:module').enableCompileCache(join(__dirname, '../node_modules/.cache/berth'))
