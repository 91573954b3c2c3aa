import { type ASTNode, BREAK, type DocumentNode, Kind, visit } from 'graphql'

/** Where an input value is in its document, as in errors about variables: `filter.numGpus.in[0]`. Undefined for other nodes. */
export function placeOf(document: DocumentNode, value: ASTNode | undefined): string | undefined {
  if (value === undefined || !valueKinds.has(value.kind)) return undefined
  let place: string | undefined
  visit(document, {
    enter(node, _key, parent, path, ancestors) {
      if (node !== value) return undefined
      const around = [...ancestors, parent]
      place = around.map((each, at) => stepInto(each, path[at + 1])).join('')
      return BREAK
    },
  })
  return place?.slice(1) || undefined
}

const valueKinds = new Set<Kind>([
  ...[Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.NULL, Kind.ENUM, Kind.LIST, Kind.OBJECT],
])

/** `.name` for an argument or field, and `[0]` for a list. */
function stepInto(node: ASTNode | readonly ASTNode[] | undefined, index: string | number | undefined): string {
  if (!node || !('kind' in node)) return ''
  if (node.kind === Kind.LIST) return `[${index}]`
  return node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD ? `.${node.name.value}` : ''
}
