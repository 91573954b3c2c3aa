import { type DocumentNode, type GraphQLError, getOperationAST, Kind } from 'graphql'
import { faceError } from './face-errors.ts'
import { maxListed } from './inputs.ts'

/** Why it is not known which operation of the document to run, if it is not. */
export function refuseUnknownOperation(
  document: DocumentNode,
  operationName: string | null | undefined,
): GraphQLError | undefined {
  if (getOperationAST(document, operationName)) return undefined
  return faceError('OPERATION_RESOLUTION_FAILURE', describe(document))
}

function describe({ definitions }: DocumentNode): string {
  const operations = definitions.filter(each => each.kind === Kind.OPERATION_DEFINITION)
  const names = operations.flatMap(({ name }) => (name ? [`"${name.value}"`] : []))
  if (operations.length === 0) return 'The document has no operation.'
  if (names.length === 0) return 'The operation has no name: leave "operationName" out.'
  const listed = names.length <= maxListed ? `: ${names.join(', ')}` : ''
  return `"operationName" must name an operation of the document${listed}.`
}
