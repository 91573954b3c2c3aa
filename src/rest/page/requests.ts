// Prints example requests as commands for a shell that has the address in BERTH and the key in KEY.

import type { Route } from '../route.ts'
import { sampleValues } from './sample-values.ts'

export function printRequest({ method, path, open, example = {} }: Route): string {
  const { query, body } = example
  const url = `"$BERTH${path.replaceAll(/\{(\w+)\}/g, (_, name) => String(sampleValues[name]))}"`
  const parameters = Object.entries(query ?? {}).map(([name, value]) => `--data-urlencode ${quote(`${name}=${value}`)}`)
  const lines = [
    ['curl', ...(method === 'GET' ? [] : ['-X', method]), ...(query ? ['-G'] : []), url].join(' '),
    ...(open ? [] : ['-H "Authorization: Bearer $KEY"']),
    ...parameters,
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quote(printJson(body))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** On one line if it is short. */
export function printJson(value: unknown): string {
  const spread = JSON.stringify(value, null, 2)
  const line = spread.replaceAll(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, '').replaceAll(/\n\s*/g, ' ')
  return line.length <= 72 ? line : spread
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
