import { z } from 'zod'

export type JsonSchema = { [key: string]: unknown; properties?: Record<string, JsonSchema>; required?: string[] }

/** Prints schemas for the document. Those with an id are collected, and stand as references where they are used. */
export function createSchemaPrinter() {
  const components: Record<string, unknown> = {}
  const print = (schema: z.ZodType): JsonSchema => {
    // What is sent and what is answered are both values before any reading, which is what zod calls an input.
    const printed = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input', override: dropSafeBounds })
    const { $schema, $defs, ...own } = JSON.parse(
      JSON.stringify(printed).replaceAll('#/$defs/', '#/components/schemas/'),
    )
    Object.assign(components, $defs)
    return own
  }
  return { print, components }
}

/** That an integer is one that doubles hold is no limit of its own. */
function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
