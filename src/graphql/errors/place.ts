import { type ASTNode, BREAK, type DocumentNode, Kind, visit } from 'graphql'

/** Where an input value is in its document, as in errors about variables: `filter.numGpus.gte`. Undefined for other nodes. */
export function placeOf(document: DocumentNode, value: ASTNode | undefined): string | undefined {
  if (value === undefined || !valueKinds.has(value.kind)) return undefined
  let place: string | undefined
  visit(document, {
    enter(node, _key, parent, _path, ancestors) {
      if (node !== value) return undefined
      place = [...ancestors, parent].flatMap(nameOf).join('.')
      return BREAK
    },
  })
  return place || undefined
}

const valueKinds = new Set<Kind>([
  ...[Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.NULL, Kind.ENUM, Kind.LIST, Kind.OBJECT],
])

function nameOf(ancestor: ASTNode | readonly ASTNode[] | undefined): string[] {
  if (!ancestor || !('kind' in ancestor)) return []
  return ancestor.kind === Kind.ARGUMENT || ancestor.kind === Kind.OBJECT_FIELD ? [ancestor.name.value] : []
}
