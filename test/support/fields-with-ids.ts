import {
  GraphQLID,
  type GraphQLInputType,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from 'graphql'
import { schema } from '../../src/graphql/schema.ts'
import { routes } from '../../src/rest/routes.ts'

/**
 * The fields that take an id, at any depth of their input. Fields outside the root types have their type as a prefix.
 */
export function fieldsWithIds(): string[] {
  const rootFields = [schema.getQueryType(), schema.getMutationType()].flatMap(fieldsTakingId)
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const others = Object.values(schema.getTypeMap()).filter(type => isObjectType(type) && !roots.includes(type))
  const within = others.flatMap(type => fieldsTakingId(type as GraphQLObjectType).map(name => `${type.name}.${name}`))
  return [...rootFields, ...within, ...fieldsTakingId(schema.getSubscriptionType()).map(name => `subscription ${name}`)]
}

function fieldsTakingId(root: GraphQLObjectType | null | undefined): string[] {
  const fields = Object.values(root?.getFields() ?? {})
  return fields.filter(field => field.args.some(arg => isIdInput(arg.type))).map(({ name }) => name)
}

function isIdInput(type: GraphQLInputType, above: string[] = []): boolean {
  const named = getNamedType(type)
  if (named === GraphQLID) return true
  // The constraints of a permission compare ids. They read nothing.
  if (named.name === 'ConstraintValueInput') return false
  if (!isInputObjectType(named) || above.includes(named.name)) return false
  return Object.values(named.getFields()).some(field => isIdInput(field.type, [...above, named.name]))
}

/** The routes that take an id in the path, or a list of ids in the body. */
export function routesWithIds(): string[] {
  return routes
    .filter(({ path, body }) => path.includes('{') || (body !== undefined && 'shape' in body && hasIds(body.shape)))
    .map(({ method, path }) => `${method} ${path}`)
}

function hasIds(shape: unknown): boolean {
  return typeof shape === 'object' && shape !== null && Object.keys(shape).some(name => /(^|_)ids$/.test(name))
}
