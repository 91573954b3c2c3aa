// The models of prisma/schema.prisma, for statements of our own that read what a selection asks for.

import type { Prisma } from '../generated/client.ts'
import { getDatamodel } from '../generated/pothos.ts'

export type ModelName = Prisma.ModelName
/** A column or a relation of a model. `type` is a scalar of Prisma, an enum or a model. */
type ModelField = { kind: 'scalar' | 'enum' | 'object'; type: string }

// The generated data model types each model as a literal of its own.
const models: Record<string, { fields: readonly { name: string; kind: string; type: string }[] }> =
  getDatamodel().datamodel.models
const fieldsByModel = new Map(
  Object.entries(models).map(([model, { fields }]) => [
    model,
    new Map(fields.map(({ name, kind, type }) => [name, { kind, type } as ModelField])),
  ]),
)

export function fieldOf(model: ModelName, name: string): ModelField {
  const field = fieldsByModel.get(model)?.get(name)
  if (!field) throw new Error(`The model ${model} has no field ${name}.`)
  return field
}
