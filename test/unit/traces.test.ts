import { SpanStatusCode, type TracerProvider, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmitRequest } from '../../src/http/admission/requests.ts'
import { createLog } from '../../src/http/log.ts'
import { createRequestLog } from '../../src/http/request-log.ts'
import { createLoop } from '../../src/reconciler/loop.ts'
import { createBatcher } from '../../src/services/batches.ts'
import { currentCaller, doFor } from '../../src/traces/callers.ts'
import { currentCause, outsideTraces } from '../../src/traces/causes.ts'
import { currentTraceId, failSpan, inSpan, inTrace } from '../../src/traces/spans.ts'
import { findTracer, sendLastSpans } from '../../src/traces/tracer.ts'
import { noPlace } from '../../src/turns/owners.ts'
import { childrenOf, type Recorded, recordSpans, textOfSpans, traceOf } from '../support/spans.ts'

let recorded: Recorded | undefined
const log = createLog('silent', { write: () => {} })

afterEach(async () => {
  await recorded?.stop()
  recorded = undefined
})

function spanOf(name: string) {
  const found = recorded?.spans().filter(span => span.name === name) ?? []
  expect(found).toHaveLength(1)
  return found[0] as (typeof found)[0]
}

describe('without an SDK', () => {
  it('the work is done, and there is no tracer', async () => {
    expect(findTracer()).toBeUndefined()
    const found = () => [currentTraceId(), currentCause(), currentCaller()]
    expect(inTrace('trace', {}, () => inSpan('span', {}, found))).toEqual([undefined, undefined, undefined])
    expect(outsideTraces(found)).toEqual([undefined, undefined, undefined])
    expect(await inTrace('trace', {}, async () => doFor(currentCaller(), () => 'done'))).toBe('done')
    await sendLastSpans()
  })
})

describe('the end of the process', () => {
  afterEach(() => trace.disable())

  it('has the SDK send what it still holds, and does not fail if that fails', async () => {
    let calls = 0
    const forceFlush = async () => {
      calls += 1
      throw new Error('The collector is away.')
    }
    const provider = { getTracer: () => trace.getTracer('of tests'), forceFlush }
    trace.setGlobalTracerProvider(provider satisfies TracerProvider)
    await sendLastSpans()
    expect(calls).toBe(1)
  })
})

describe('a span', () => {
  it('lasts as long as its work, and has the kind of its error', async () => {
    recorded = recordSpans()
    const secret = Object.assign(new Error('a secret message'), { code: 'E_SECRET' })
    expect(() =>
      inTrace('thrown', {}, () => {
        throw new TypeError('secret')
      }),
    ).toThrow(TypeError)
    await expect(inTrace('rejected', {}, () => Promise.reject(secret))).rejects.toBe(secret)
    inTrace('marked', {}, () => failSpan('500'))
    inTrace('done', {}, () => 'done')
    const statuses = ['thrown', 'rejected', 'marked', 'done'].map(name => {
      const { status, attributes } = spanOf(name)
      return [status.code, attributes['error.type']]
    })
    const { ERROR, UNSET } = SpanStatusCode
    expect(statuses).toEqual([
      [ERROR, 'TypeError'],
      [ERROR, 'E_SECRET'],
      [ERROR, '500'],
      [UNSET, undefined],
    ])
    expect(textOfSpans(recorded.spans())).not.toContain('secret')
  })

  it('is made only inside of another, or begins a trace', () => {
    recorded = recordSpans()
    inSpan('nowhere', {}, () => {})
    inTrace('trace', {}, () => inSpan('inside', {}, () => inTrace('other trace', {}, () => {})))
    expect(recorded.spans().map(({ name }) => name)).toEqual(['other trace', 'inside', 'trace'])
    expect(traceOf(spanOf('other trace'))).not.toBe(traceOf(spanOf('trace')))
  })
})

describe('a trace that the operator does not record', () => {
  it('has no spans, and gives its place in a batch to others', async () => {
    recorded = recordSpans({ sample: name => name !== 'left out' })
    const double = createBatcher(
      {
        many: async items => new Map(items.map(item => [item, inSpan('many', {}, () => 1)])),
        one: async () => 1,
        accountOf: () => 1,
      },
      log,
    )
    const ask = (name: string) => inTrace(name, {}, () => inSpan(`in ${name}`, {}, () => double({})))
    await Promise.all([ask('left out'), ask('recorded')])
    expect(
      recorded
        .spans()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['in recorded', 'many', 'many', 'recorded'])
  })
})

describe('a batch', () => {
  const work = {
    many: async (items: readonly { n: number }[]) => {
      await inSpan('many', {}, async () => {})
      return new Map(items.flatMap(item => (item.n < 0 ? [] : [[item, 2 * item.n] as const])))
    },
    one: async ({ n }: { n: number }) => inSpan('one', {}, () => 2 * n),
    accountOf: () => 1,
  }

  it('of several callers is a span of the first, with links to the others', async () => {
    recorded = recordSpans()
    const double = createBatcher(work, log)
    const ask = (n: number) => inTrace(`caller ${n}`, {}, () => double({ n }))
    expect(await Promise.all([ask(1), ask(2), double({ n: 3 }), ask(4)])).toEqual([2, 4, 6, 8])
    const batch = spanOf('batch')
    expect(childrenOf(recorded.spans(), spanOf('caller 1'))).toEqual([batch])
    expect(batch.links.map(({ context }) => context.traceId)).toEqual([2, 4].map(n => traceOf(spanOf(`caller ${n}`))))
    expect(batch.attributes).toEqual({ 'berth.batch.size': 4 })
    expect(childrenOf(recorded.spans(), batch)).toEqual([spanOf('many')])
  })

  it('of one caller is no span', async () => {
    recorded = recordSpans()
    const double = createBatcher(work, log)
    await inTrace('caller', {}, () => double({ n: 1 }))
    expect(childrenOf(recorded.spans(), spanOf('caller')).map(({ name }) => name)).toEqual(['many'])
  })

  it('leaves what is done one by one to the traces of its callers', async () => {
    recorded = recordSpans()
    const double = createBatcher(work, log)
    await Promise.all([inTrace('caller', {}, () => double({ n: 1 })), inTrace('single', {}, () => double({ n: -2 }))])
    expect(childrenOf(recorded.spans(), spanOf('single'))).toEqual([spanOf('one')])
  })
})

describe('due work', () => {
  it('is a trace of its own, with links to what woke its loop', async () => {
    recorded = recordSpans()
    let due = [1]
    const loop = createLoop<number>({
      name: 'tests',
      leaseDue: async () => due.splice(0),
      work: async item => inSpan(`step ${item}`, {}, () => {}),
      describe: item => ({ item }),
      log,
    })
    for (let cause = 0; cause < 9; cause += 1) inTrace(`cause ${cause}`, {}, () => outsideTraces(loop.wake))
    await loop.idle()
    const first = spanOf('due tests')
    expect(first.parentSpanContext).toBeUndefined()
    expect(first.attributes).toEqual({ item: 1 })
    expect(childrenOf(recorded.spans(), first)).toEqual([spanOf('step 1')])
    // A flood of wake-ups does not make a flood of links.
    const causes = Array.from({ length: 8 }, (_, cause) => traceOf(spanOf(`cause ${cause}`)))
    expect(first.links.map(({ context }) => context.traceId)).toEqual(causes)
    recorded.forget()
    due = [2]
    await loop.idle()
    expect(spanOf('due tests').links).toEqual([])
    await loop.stop()
  })
})

describe('admission', () => {
  it.each([
    ['is a span for a request that waits', Promise.resolve(noPlace), 1],
    ['is none for one that runs at once', noPlace, 0],
  ])('%s', async (_, entered, count) => {
    recorded = recordSpans()
    const admission = {
      enter: () => entered,
      figures: () => ({ running: 0, waiting: 0, atOnce: 0, waited: 0, refused: 0 }),
    }
    const admit = createAdmitRequest({
      ...{ admission, begin: createRequestLog(log), ownerOf: () => 1, refusals: { graphql: '', rest: '' } },
    })
    const request = { method: 'GET', url: '/api/v0/offers/', headers: {} } as Parameters<typeof admit>[0]
    const response = { destroyed: false } as Parameters<typeof admit>[1]
    await inTrace('request', {}, () => admit(request, response, { address: '192.0.2.1' }))
    expect(childrenOf(recorded.spans(), spanOf('request')).map(({ name }) => name)).toEqual(
      Array(count).fill('wait for admission'),
    )
  })
})
