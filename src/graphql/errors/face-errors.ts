// Errors of the face itself and of its libraries: about a request, an operation or an answer as a whole.

import { GraphQLError, type GraphQLErrorOptions } from 'graphql'
import { nameOf } from '../enum.ts'
import { type FaceErrorCode, faceErrors, isFaceErrorCode } from './codes.ts'

type FaceErrorOptions = Omit<GraphQLErrorOptions, 'extensions'> & { http?: { status: number; spec?: true } }

export function faceError(
  code: FaceErrorCode,
  message: string,
  { http, ...options }: FaceErrorOptions = {},
): GraphQLError {
  return new GraphQLError(message, { ...options, extensions: { ...extensionsOf(code), ...(http && { http }) } })
}

/** What every error with this code has in its extensions. */
export function extensionsOf(code: FaceErrorCode) {
  return { code, retry: nameOf(faceErrors[code]) }
}

/**
 * Every error passes here when it leaves the face. Those of libraries get what all have: a documented code, and advice.
 * They are about the request if their code is another one.
 */
export function completeError(error: GraphQLError): GraphQLError {
  if (error.extensions['retry'] !== undefined) return error
  const { code } = error.extensions
  const known = extensionsOf(isFaceErrorCode(code) ? code : 'BAD_REQUEST')
  return replaceError(error, plainerMessages[error.message] ?? error.message, { ...error.extensions, ...known })
}

const plainerMessages: Record<string, string> = {
  // curl says that what it sends is a form, unless told otherwise.
  'Must provide query string.':
    'The request has no query. Send JSON, {"query": "…"}, with the header "Content-Type: application/json".',
}

/** The error with another message and other extensions. */
export function replaceError(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, source = null, positions = null, path = null } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
