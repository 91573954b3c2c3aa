// What an operation takes of the caller's points.

import {
  type ExecutionArgs,
  type GraphQLError,
  getOperationAST,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql'
import { DomainError } from '../../domain/errors.ts'
import { changePoints, charactersPerPoint, documentPoints, maxCountedCharacters } from '../../http/limits/points.ts'
import type { Context } from '../context.ts'
import { parsedDocuments } from '../document-cache.ts'
import { refusalError } from '../errors/errors.ts'

/** The points for parsing and validating a text of this length. */
export function textPoints(characters: number): number {
  return documentPoints + Math.ceil(Math.min(characters, maxCountedCharacters) / charactersPerPoint)
}

/** Takes the points of a text that will be parsed. Throws if the caller has too few. */
export function payForText(text: string, { meter, actor }: Context): void {
  if (parsedDocuments.get(text)) return
  const refusal = pointsRefusal(() => meter.take(actor, textPoints(text.length)))
  if (refusal) throw refusal
}

/** `fields`: as many as the operation can answer. The request itself is paid already. */
export function operationPoints({ document, operationName }: ExecutionArgs, fields: number): number {
  const operation = getOperationAST(document, operationName)
  if (operation?.operation !== OperationTypeNode.MUTATION) return fields
  return fields + changePoints * countFields(operation.selectionSet)

  function countFields({ selections }: SelectionSetNode): number {
    let count = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) count += 1
      else if (selection.kind === Kind.INLINE_FRAGMENT) count += countFields(selection.selectionSet)
      else count += countFields(fragmentOf(selection.name.value))
    }
    return count
  }

  /** The document is valid, so each fragment exists, and none contains itself. */
  function fragmentOf(name: string): SelectionSetNode {
    const fragment = document.definitions.find(
      each => each.kind === Kind.FRAGMENT_DEFINITION && each.name.value === name,
    )
    return (fragment as { selectionSet: SelectionSetNode }).selectionSet
  }
}

/** Why the points cannot be taken, if the caller has too few. */
export function pointsRefusal(take: () => void): GraphQLError | undefined {
  try {
    take()
    return undefined
  } catch (error) {
    if (error instanceof DomainError) return refusalError(error)
    throw error
  }
}
