import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { findRoutes } from '../../../src/rest/paths.ts'
import { routes } from '../../../src/rest/routes.ts'

/** What tests read of a JSON schema. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  allOf?: Schema[]
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  minItems?: number
  minimum?: number
  maximum?: number
  pattern?: string
}
type Content = Record<string, { schema: Schema }>
type Parameter = { name: string; in: string; required: boolean; schema: Schema }
export type Operation = {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { $ref?: string; content: Content }>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, { content: Content }> }
}

type Answer = { method: string; pathname: string; status: number; type: string; text: string }

/** Says what is wrong with an answer by the document as it is served, and by nothing else; undefined where nothing is. */
export function checkerOf(document: Document): (answer: Answer) => string | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(JSON.parse(JSON.stringify(document)), 'document')
  const compiled = new Map<string, ValidateFunction>()

  function checkBody(pointer: string, body: unknown): string | undefined {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `document#${pointer}` })
    compiled.set(pointer, validate)
    return validate(body) ? undefined : ajv.errorsText(validate.errors)
  }

  /** The contents of an answer, and where in the document they stand. */
  function documented(path: string, method: string, status: number): { content?: Content; at: string[] } {
    const { $ref, content } = document.paths[path]?.[method]?.responses[status] ?? {}
    if (!$ref) return { ...(content && { content }), at: ['paths', path, method, 'responses', String(status)] }
    const [, ...at] = $ref.split('/')
    return { ...document.components.responses[at.at(-1) as string], at }
  }

  function checkDocumented(path: string, { method, status, type, text }: Answer): string | undefined {
    const { content, at } = documented(path, method.toLowerCase(), status)
    if (!content) return `the status ${status} is not there`
    const [media = ''] = Object.keys(content)
    if (type !== (media === 'application/json' ? media : `${media}; charset=utf-8`)) return `the type is ${type}`
    return media === 'application/json'
      ? checkBody(pointerTo(...at, 'content', media, 'schema'), JSON.parse(text))
      : undefined
  }

  return answer => {
    const { method, pathname, status } = answer
    const route = findRoutes(routes, pathname).routes.find(route => route.method === method)
    if (!route && ![404, 405].includes(status)) return 'there is no such operation'
    const problem = route && checkDocumented(route.path, answer)
    return problem ?? (status === 200 ? undefined : checkFailure(answer))
  }
}

function pointerTo(...segments: string[]): string {
  return segments.map(segment => `/${encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')
}

/** Every failure has these three, whatever else it has. */
function checkFailure({ type, text }: Answer): string | undefined {
  const { success, error, msg } = JSON.parse(text)
  const fine = type === 'application/json' && success === false && isText(error) && isText(msg)
  return fine ? undefined : 'it has not the shape of a failure'
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
