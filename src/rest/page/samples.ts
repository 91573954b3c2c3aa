// Makes example answers from schemas, so that they have all fields and stay true.

import type { JsonSchema } from '../openapi/schemas.ts'
import { sampleValues } from './sample-values.ts'

/** Returns a function that makes an example of a schema. `components` has what its references name. */
export function createSampler(components: Record<string, unknown>): (schema: JsonSchema) => unknown {
  const sample = (schema: JsonSchema, name = ''): unknown => {
    const { $ref, const: only } = schema
    const choices = (schema['anyOf'] ?? schema['oneOf']) as JsonSchema[] | undefined
    if (only !== undefined) return only
    if (typeof $ref === 'string') return sample(components[nameOf($ref)] as JsonSchema, name)
    if (choices) return sample(choices[0] as JsonSchema, name)
    return Object.keys(schema.properties ?? {}).length > 0 ? sampleObject(schema) : sampleValue(schema, name)
  }
  const sampleObject = ({ properties = {}, required = [] }: JsonSchema) =>
    Object.fromEntries(required.map(field => [field, sample(properties[field] ?? {}, field)]))
  const sampleValue = ({ enum: options, items, type }: JsonSchema, name: string) => {
    const known = sampleValues[name]
    if (type === 'null') return null
    if (options) return (options as unknown[]).find(option => option === known) ?? (options as unknown[])[0]
    if (known !== undefined) return type === 'string' ? String(known) : known
    if (items) return [sample(items as JsonSchema, name)].filter(item => item !== null)
    return plainValues[String(type)] ?? null
  }
  return sample
}

export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** The values of fields that always have the same. */
const plainValues: Record<string, unknown> = { boolean: true, number: 0, integer: 0, string: '', object: {}, array: [] }
