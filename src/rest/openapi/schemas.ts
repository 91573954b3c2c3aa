import { z } from 'zod'

export type JsonSchema = { [key: string]: unknown; properties?: Record<string, JsonSchema>; required?: string[] }

/** Prints schemas for the OpenAPI document. Schemas with an id go to `components`, and their uses become references. */
export function createSchemaPrinter() {
  const components: Record<string, unknown> = {}
  const print = (schema: z.ZodType): JsonSchema => {
    // Clients send and receive values as they are before zod's transforms. zod calls that the input type.
    const printed = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input', override: dropSafeBounds })
    const { $schema, $defs, ...own } = JSON.parse(
      JSON.stringify(printed).replaceAll('#/$defs/', '#/components/schemas/'),
    )
    Object.assign(components, $defs)
    return own
  }
  return { print, components }
}

/** zod limits integers to those that doubles hold exactly. The document leaves these limits out. */
function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
