import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as documents from '@graphql-codegen/typed-document-node'
import * as types from '@graphql-codegen/typescript-operations'
import { parse } from 'graphql'

const config = {
  documentMode: 'string',
  useTypeImports: true,
  // schema.graphql has the descriptions. Without them here, a new description leaves the generated client unchanged.
  disableDescriptions: true,
  // Operations select __typename themselves where they need it.
  skipTypename: true,
  arrayInputCoercion: false,
  strictScalars: true,
  scalars: { Usd: 'string', DateTime: 'string', ID: 'string' },
}

/** Generates the operations beside this file and their types. Fails if an operation does not match the schema. */
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
