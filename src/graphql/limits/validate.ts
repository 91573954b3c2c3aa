import { NoFragmentCyclesRule, validate } from 'graphql'
import { redactError } from '../errors/errors.ts'
import { limitsRule, operationLimits } from './operation-limits.ts'
import { repeatsRule } from './repeats.ts'

/** Each step is slow for exactly the documents that an earlier one refuses. */
export const validateWithinLimits: typeof validate = (schema, document, rules, options) => {
  for (const step of [[limitsRule, NoFragmentCyclesRule], [repeatsRule], rules]) {
    const errors = validate(schema, document, step, { ...options, maxErrors: operationLimits.errors })
    if (errors.length > 0)
      return errors.map(error => redactError(error, 'GRAPHQL_VALIDATION_FAILED', { document, schema }))
  }
  return []
}
