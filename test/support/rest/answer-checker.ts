import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { findRoutes } from '../../../src/rest/paths.ts'
import { routes } from '../../../src/rest/routes.ts'

/** The parts of a JSON schema that tests read. */
export type JsonSchema = {
  $ref?: string
  type?: string | string[]
  allOf?: JsonSchema[]
  anyOf?: JsonSchema[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  minItems?: number
  minimum?: number
  maximum?: number
  pattern?: string
}
type Content = Record<string, { schema: JsonSchema }>
type Parameter = { name: string; in: string; required: boolean; schema: JsonSchema }
export type OpenApiOperation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, { $ref?: string; content: Content }>
}
export type OpenApiDocument = {
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, JsonSchema>; responses: Record<string, { content: Content }> }
}

type ReceivedAnswer = { method: string; pathname: string; status: number; type: string; text: string }

/** Checks answers against the served OpenAPI document. Returns a problem, or undefined if there is none. */
export function createAnswerChecker(document: OpenApiDocument): (answer: ReceivedAnswer) => string | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(JSON.parse(JSON.stringify(document)), 'document')
  const compiled = new Map<string, ValidateFunction>()

  function checkBody(pointer: string, body: unknown): string | undefined {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `document#${pointer}` })
    compiled.set(pointer, validate)
    return validate(body) ? undefined : ajv.errorsText(validate.errors)
  }

  /** The documented contents of a response, and their path in the document. */
  function findDocumentedContent(path: string, method: string, status: number): { content?: Content; at: string[] } {
    const { $ref, content } = document.paths[path]?.[method]?.responses[status] ?? {}
    if (!$ref) return { ...(content && { content }), at: ['paths', path, method, 'responses', String(status)] }
    const [, ...at] = $ref.split('/')
    return { ...document.components.responses[at.at(-1) as string], at }
  }

  function checkDocumented(path: string, { method, status, type, text }: ReceivedAnswer): string | undefined {
    const { content, at } = findDocumentedContent(path, method.toLowerCase(), status)
    if (!content) return `the status ${status} is not documented`
    const [media = ''] = Object.keys(content)
    if (type !== (media === 'application/json' ? media : `${media}; charset=utf-8`)) return `the type is ${type}`
    return media === 'application/json'
      ? checkBody(jsonPointer(...at, 'content', media, 'schema'), JSON.parse(text))
      : undefined
  }

  return answer => {
    const { method, pathname, status } = answer
    const route = findRoutes(routes, pathname).routes.find(route => route.method === method)
    if (!route && ![404, 405].includes(status)) return 'the operation is not documented'
    const problem = route && checkDocumented(route.path, answer)
    return problem ?? (status === 200 ? undefined : checkFailure(answer))
  }
}

function jsonPointer(...segments: string[]): string {
  return segments.map(segment => `/${encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')
}

/** Every failure has success, error and msg. */
function checkFailure({ type, text }: ReceivedAnswer): string | undefined {
  const { success, error, msg } = JSON.parse(text)
  const isFailureShape = type === 'application/json' && success === false && isText(error) && isText(msg)
  return isFailureShape ? undefined : 'the answer does not have the shape of a failure'
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
