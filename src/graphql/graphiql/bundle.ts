// Runs in a worker. GraphiQL's package is one module with megabytes of text. Loading it takes half a second, which would
// block other requests on the main thread.

import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { renderScript, setupScript } from './browser.ts'
import { handOnScript } from './hand-on.ts'
import { keyFormScript } from './key-form.ts'
import { styles } from './styles.ts'

export type Bundle = { hash: string; files: Record<string, { type: string; bytes: Uint8Array }> }

/** The exports of the package's module. The package's own entry would inline all of them into each page. */
type Parts = Record<'js' | 'css' | 'favicon' | 'editorWorkerService' | 'jsonWorker' | 'graphqlWorker', string>

const module = new URL('graphiql.js', import.meta.resolve('@graphql-yoga/render-graphiql'))
const parts: Parts = await import(module.href)
const script = 'text/javascript; charset=utf-8'
const textFile = (type: string, content: string) => ({ type, bytes: Buffer.from(content) })
const files: Bundle['files'] = {
  'graphiql.js': textFile(script, [setupScript, keyFormScript, parts.js, handOnScript, renderScript].join(';\n')),
  'graphiql.css': textFile('text/css; charset=utf-8', `${parts.css}\n${styles}`),
  // The editor requests its workers by these names.
  'editorWorkerService.js': textFile(script, parts.editorWorkerService),
  'json.js': textFile(script, parts.jsonWorker),
  'graphql.js': textFile(script, parts.graphqlWorker),
  'favicon.ico': { type: 'image/x-icon', bytes: Buffer.from(parts.favicon.replace(/^[^,]*,/, ''), 'base64') },
}
const hash = createHash('sha256')
for (const [name, { bytes }] of Object.entries(files)) hash.update(name).update(bytes)
const bundle: Bundle = { hash: hash.digest('hex').slice(0, 16), files }
parentPort?.postMessage(bundle)
