import type pg from 'pg'
import { beginSpan, isInSpan } from '../traces/spans.ts'
import { isTracing } from '../traces/tracer.ts'
import { summaryOf } from './statement-summary.ts'

type Statement = string | { text: string }
type Callback = (error: Error | undefined, result: unknown) => void
/** As `pg` calls it: with a callback from the pool, without one from a transaction. */
type Send = (statement: Statement, values?: unknown, callback?: Callback) => Promise<unknown> | undefined

/** Makes each statement of the connection a span of what needs it. It tells no text and no values of the statement. */
export function traceStatements(client: pg.ClientBase): void {
  if (!isTracing()) return
  const send = client.query.bind(client) as Send
  const sendInSpan: Send = (statement, values, callback) => {
    if (!isInSpan()) return send(statement, values, callback)
    const summary = summaryOf(typeof statement === 'string' ? statement : statement.text)
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary }
    const end = beginSpan(summary, { attributes, kind: 'CLIENT' })
    if (callback)
      return send(statement, values, (error, result) => {
        end?.(error)
        callback(error, result)
      })
    const answer = send(statement, values)
    answer?.then(() => end?.(), end)
    return answer
  }
  client.query = sendInSpan as typeof client.query
}
