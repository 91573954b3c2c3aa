import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as documents from '@graphql-codegen/typed-document-node'
import * as types from '@graphql-codegen/typescript-operations'
import { parse } from 'graphql'

const config = {
  documentMode: 'string',
  useTypeImports: true,
  // schema.graphql has them, and what only they say changes no client.
  disableDescriptions: true,
  // An operation names __typename where it wants it.
  skipTypename: true,
  arrayInputCoercion: false,
  strictScalars: true,
  scalars: { Usd: 'string', DateTime: 'string', ID: 'string' },
}

/** The types of the operations beside this file, and the operations themselves. One that the schema does not know fails. */
export async function generateClient(schema: string): Promise<string> {
  const names = (await readdir(import.meta.dirname)).filter(name => name.endsWith('.graphql')).sort()
  return await codegen({
    filename: 'generated.ts',
    schema: parse(schema),
    documents: await Promise.all(
      names.map(async location => ({
        location,
        document: parse(await readFile(join(import.meta.dirname, location), 'utf8')),
      })),
    ),
    config,
    pluginMap: { types, documents },
    plugins: [{ types: {} }, { documents: {} }],
  })
}
